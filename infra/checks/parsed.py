#!/usr/bin/env python3
"""Reads state machines with moto's parser of Amazon States Language, as a second opinion.

    parsed.py FILE...
"""

import sys
from pathlib import Path

from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

for name in sys.argv[1:]:
    AmazonStateLanguageParser.parse(Path(name).read_text())
    print(f"moto's parser reads {name}")
