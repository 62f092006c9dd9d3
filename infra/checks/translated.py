#!/usr/bin/env python3
"""Translates the template as CloudFormation would (AWS::Serverless-2016-10-31) and looks at what comes out.

    translated.py TREE OUT

writes OUT/template.json, with the state machines' definitions in it, for cfn-lint, and OUT/task.asl.json and
OUT/delivery.asl.json, with their substitutions filled in, for validators of the language. The rules here are about what SAM adds or silently drops; those
about the source are in infra/*_test.go.
"""

import json
import logging
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-west-1")

from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

FUNCTIONS = ["ApiFunction", "DeliverFunction", "SettleFunction", "StepFunction", "StreamFunction", "SweepFunction"]
MACHINES = {"TaskMachine": "task", "DeliveryMachine": "delivery"}
ROUTES = ["/", "/{proxy+}"]
violations = []


def want(holds, message):
    if not holds:
        violations.append(message)


def translate(tree):
    logging.getLogger("samtranslator.feature_toggle.feature_toggle").setLevel(logging.ERROR)  # it misses a file of AWS's
    source = yaml_parse((tree / "template.yaml").read_text())
    # What sam package would have uploaded.
    source["Globals"]["Function"]["CodeUri"] = "s3://artifacts/function"
    for machine, name in MACHINES.items():
        source["Resources"][machine]["Properties"]["DefinitionUri"] = "s3://artifacts/" + name
    for resource in source["Resources"].values():
        if resource["Type"] == "AWS::CloudFormation::Stack":
            resource["Properties"]["TemplateURL"] = "https://s3.amazonaws.com/artifacts/" + resource["Properties"]["TemplateURL"]
    return transform(source, {}, SimpleNamespace(load=dict))


def of_type(template, kind):
    return {name: r for name, r in template["Resources"].items() if r["Type"] == kind}


def choose(value, conditions):
    """Takes the branch of every Fn::If."""
    if isinstance(value, dict):
        if list(value) == ["Fn::If"]:
            name, then, otherwise = value["Fn::If"]
            return choose(then if conditions[name] else otherwise, conditions)
        return {k: choose(v, conditions) for k, v in value.items()}
    if isinstance(value, list):
        return [choose(v, conditions) for v in value]
    return value


def check_api(template):
    api = of_type(template, "AWS::ApiGateway::RestApi")
    want(list(api) == ["Api"], f"REST APIs: {list(api)}")
    for streams, mode, timeout, version, call in [
        (True, "STREAM", 900000, "2021-11-15", "response-streaming-invocations"),
        (False, "BUFFERED", 29000, "2015-03-31", "invocations"),
    ]:
        body = choose(api["Api"]["Properties"]["Body"], {"Streams": streams})
        want(sorted(body["paths"]) == ROUTES, f"routes: {sorted(body['paths'])}")
        for route, methods in body["paths"].items():
            integration = methods["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"]
            got = (integration["responseTransferMode"], integration["timeoutInMillis"])
            want(got == (mode, timeout), f"{route}: {got}, want {(mode, timeout)}")
            uri = integration["uri"]["Fn::Sub"]
            want(f"path/{version}/" in uri and uri.endswith("/" + call), f"{route}: {uri}")
    want(api["Api"]["Properties"]["EndpointConfiguration"]["Types"] == ["REGIONAL"], "the API is not regional")
    permissions = [p["Properties"] for p in of_type(template, "AWS::Lambda::Permission").values() if p["Properties"]["Principal"] == "apigateway.amazonaws.com"]
    want(len(permissions) == 1 and permissions[0]["Action"] == "lambda:InvokeFunction", f"API Gateway may: {permissions}")
    deployments = of_type(template, "AWS::ApiGateway::Deployment")
    want(not any("StageName" in d["Properties"] for d in deployments.values()), "a deployment makes a stage of its own")
    stages = of_type(template, "AWS::ApiGateway::Stage")
    want(len(stages) == 1 and all(s["Properties"].get("MethodSettings") for s in stages.values()), "the stage has no limits")


def check_functions(template):
    functions = of_type(template, "AWS::Lambda::Function")
    want(sorted(functions) == FUNCTIONS, f"functions: {sorted(functions)}")
    for name, function in functions.items():
        properties = function["Properties"]
        for needed in ["Timeout", "MemorySize", "ReservedConcurrentExecutions", "Architectures", "TracingConfig", "Role"]:
            want(needed in properties, f"{name} has no {needed}")
        want(properties.get("LoggingConfig", {}).get("LogGroup"), f"{name} has no log group")
        want(properties["Role"]["Fn::GetAtt"][0] == "Access", f"{name} runs as {properties['Role']}")
    roles = of_type(template, "AWS::IAM::Role")
    want(sorted(roles) == sorted(m + "Role" for m in MACHINES), f"SAM made roles of its own: {sorted(roles)}")
    for name, role in roles.items():
        want(not role["Properties"].get("ManagedPolicyArns"), f"{name} has managed policies")
    want(not of_type(template, "AWS::IAM::Policy") and not of_type(template, "AWS::IAM::ManagedPolicy"), "SAM made policies of its own")
    rules = of_type(template, "AWS::Events::Rule")
    want(len(rules) == 1 and all(r["Properties"]["ScheduleExpression"] == "rate(1 minute)" for r in rules.values()), f"schedules: {rules}")


def check_mapping(template):
    mappings = list(of_type(template, "AWS::Lambda::EventSourceMapping").values())
    want(len(mappings) == 1, f"{len(mappings)} event source mappings")
    for mapping in mappings:
        properties = mapping["Properties"]
        for needed in ["BisectBatchOnFunctionError", "MaximumRetryAttempts", "MaximumRecordAgeInSeconds", "FunctionResponseTypes", "DestinationConfig"]:
            want(properties.get(needed), f"the stream mapping lost {needed}")
        filters = properties["FilterCriteria"]["Filters"]
        want(len(filters) == 2, f"{len(filters)} filters")
        for pattern in filters:
            json.loads(pattern["Pattern"])


def check_machines(template):
    for name in MACHINES:
        machine = template["Resources"][name]["Properties"]
        want(machine["StateMachineType"] == "STANDARD", f"{name}: only standard executions start once for each name")
        want(machine["LoggingConfiguration"]["IncludeExecutionData"] is False, f"{name}: execution data would be logged")
    aliases, versions = (of_type(template, "AWS::StepFunctions::StateMachine" + kind) for kind in ("Alias", "Version"))
    want(sorted(aliases) == sorted(m + "Aliaslive" for m in MACHINES) and sorted(versions) == sorted(m + "Version" for m in MACHINES), f"{sorted(aliases)}, {sorted(versions)}")
    want(all(v["DeletionPolicy"] == "Retain" for v in versions.values()), "an old version would be deleted under its executions")


def inline(template, tree, out):
    for machine, name in MACHINES.items():
        text = (tree / f"statemachine/{name}.asl.json").read_text()
        properties = template["Resources"][machine]["Properties"]
        del properties["DefinitionS3Location"]
        properties["DefinitionString"] = text
        used = set(re.findall(r"\$\{(\w+)\}", text))
        want(used == set(properties["DefinitionSubstitutions"]), f"{machine}: substitutions used: {used}, given: {set(properties['DefinitionSubstitutions'])}")
        for function in used:
            text = text.replace("${%s}" % function, "arn:aws:lambda:eu-west-1:123456789012:function:" + function)
        (out / f"{name}.asl.json").write_text(text)
    (out / "template.json").write_text(json.dumps(template, indent=1))


def main():
    tree, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    template = translate(tree)
    for check in [check_api, check_functions, check_mapping, check_machines]:
        check(template)
    inline(template, tree, out)
    for violation in violations:
        print("translated template:", violation, file=sys.stderr)
    print(f"translated into {len(template['Resources'])} resources, {len(violations)} violations")
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
