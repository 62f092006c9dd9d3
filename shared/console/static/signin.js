// The form for a key or token, where the server asks for one.

import { el, put } from "./dom.js";
import { ask, Failure, signIn, signOut } from "./http.js";

export function showSignIn(main, entered) {
  const key = el("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", autocapitalize: "none", required: true, "aria-describedby": "key-note key-error" });
  const error = el("p", { id: "key-error", class: "error", role: "alert" });
  const form = el("form", { class: "card signin" },
    el("h1", {}, "Sign in"),
    el("label", { for: "key" }, "API key or access token"), key,
    el("p", { id: "key-note", class: "soft" }, "It needs the scope operator:read, and operator:act for actions. It is kept in this tab until you sign out or close it, and is sent to this server only."),
    error, el("button", { class: "main" }, "Sign in"));
  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    put(error);
    signIn(key.value.trim());
    try {
      const session = await ask("session");
      key.value = "";
      entered(session);
    } catch (err) {
      signOut();
      put(error, err instanceof Failure && err.status === 401 ? "This key or token is not taken here." : err.message);
      key.focus();
    }
  });
  put(main, form);
  key.focus();
}
