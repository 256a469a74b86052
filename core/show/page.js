"use strict";
(() => {
  const { text, deltas } = JSON.parse(document.getElementById("data").textContent);
  const characters = Array.from(text);
  const find = (id) => document.getElementById(id);
  const slider = find("slider"), play = find("play"), client = find("client");
  const rows = find("deltas").tBodies[0].rows;

  // Text from models and templates goes into the page as text only, never as markup.
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
  const escape = (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0");
  const put = (element, content) => { element.textContent = content.replace(hidden, escape); };
  const add = (parent, tag, content) => put(parent.appendChild(document.createElement(tag)), content);

  const fold = (count) => {
    const message = { reasoning: "", content: "", calls: [] };
    let seen = 0;
    for (const [position, delta] of deltas) {
      if (position > count) break;
      seen += 1;
      message.reasoning += delta.reasoning_content ?? "";
      message.content += delta.content ?? "";
      for (const piece of delta.tool_calls ?? []) {
        const call = (message.calls[piece.index] ??= { name: "", id: "", text: "" });
        call.name += piece.function?.name ?? "";
        call.id += piece.id ?? "";
        call.text += piece.function?.arguments ?? "";
      }
    }
    return [message, seen];
  };

  const show = () => {
    const count = Number(slider.value);
    const [message, seen] = fold(count);
    put(find("past"), characters.slice(0, count).join(""));
    put(find("future"), characters.slice(count).join(""));
    find("count").textContent = `${count} of ${characters.length}`;
    slider.setAttribute("aria-valuetext", `${count} of ${characters.length} characters, ${seen} deltas`);
    const list = document.createElement("dl");
    const field = (label, content) => { add(list, "dt", label); add(list, "dd", content); };
    if (message.reasoning) field("reasoning", message.reasoning);
    if (message.content) field("content", message.content);
    message.calls.forEach((call, number) => field(`call ${number}: ${call.name} (${call.id})`, call.text));
    if (!list.children.length) add(list, "dd", "nothing yet");
    client.replaceChildren(list);
    for (let number = 0; number < rows.length; number += 1) rows[number].className = number === seen - 1 ? "now" : "";
  };

  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; play.setAttribute("aria-pressed", "false"); };
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) >= characters.length) slider.value = "0";
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    timer = setInterval(() => {
      slider.value = String(Number(slider.value) + 1);
      show();
      if (Number(slider.value) >= characters.length) stop();
    }, 40);
  });
  find("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.style.colorScheme = dark ? "light" : "dark";
  });

  // A page that was opened from a file may not be given the clipboard; then the text is selected and copied the old way.
  const copySelected = (element) => {
    getSelection().selectAllChildren(element);
    const done = document.execCommand("copy");
    getSelection().removeAllRanges();
    return done;
  };
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const element = find(button.dataset.copy);
      let done = true;
      try { await navigator.clipboard.writeText(element.textContent); } catch { done = copySelected(element); }
      button.textContent = done ? "Copied" : "Select it by hand";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  slider.addEventListener("input", () => { stop(); show(); });
  show();
})();
