// Times and numbers as text. Instants are in UTC, as everywhere in Holdfast; ages are
// taken by the server's clock.

let skew = 0;

// heard sets the clock by an answer's instant.
export function heard(at) {
  const server = Date.parse(at);
  if (!Number.isNaN(server)) skew = server - Date.now();
}

export const now = () => Date.now() + skew;

const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];

// span is a length of time in its two largest units.
export function span(ms) {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return "-" + span(-ms);
  if (ms < 1000) return Math.round(ms) + " ms";
  let seconds = Math.floor(ms / 1000);
  if (seconds < 10 && ms % 1000 >= 50) return (ms / 1000).toFixed(1) + " s";
  const out = [];
  for (const [name, size] of units) {
    const n = Math.floor(seconds / size);
    if (n === 0 && out.length === 0) continue;
    out.push(out.length > 0 && size < 86400 ? String(n).padStart(2, "0") + " " + name : n + " " + name);
    if (out.length === 2) break;
    seconds %= size;
  }
  return out.join(" ");
}

// coarse is a span without fractions, for what counts on while it is looked at.
export const coarse = (ms) => (ms < 0 ? "-" + coarse(-ms) : ms < 1000 ? "0 s" : span(Math.floor(ms / 1000) * 1000));

const zero = (at) => !at || at.startsWith("0001-");

export const since = (at) => (zero(at) ? NaN : now() - Date.parse(at));
export const until = (at) => (zero(at) ? NaN : Date.parse(at) - now());

// stamp is an instant: date and time, or the time alone.
export function stamp(at, fraction = false) {
  if (zero(at)) return "–";
  const text = new Date(at).toISOString();
  return text.slice(0, 10) + " " + text.slice(11, fraction ? 23 : 19) + "Z";
}

export const clock = (at) => (zero(at) ? "–" : new Date(at).toISOString().slice(11, 23));
export const local = (at) => (zero(at) ? "" : new Date(at).toLocaleString());
export const day = (at) => new Date(at).toISOString().slice(0, 10);

export const count = (n) => Number(n).toLocaleString("en");

export function bytes(n) {
  if (n < 1024) return n + " B";
  if (n < 1024 * 1024) return (n / 1024).toFixed(1) + " KiB";
  return (n / 1024 / 1024).toFixed(1) + " MiB";
}

export const digest = (d) => (d ? d.slice(0, 12) + "…" : "–");
export const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : (many ?? one + "s"));
