// The messages at the bottom of the page: errors, notices, and whether the server can be reached.

import { $, setText } from "./dom.js";

const NOTICE_MILLISECONDS = 9000;
const LOST = "The server cannot be reached. Start it again with “wanderlust studio”; this page reconnects by itself and goes on where it was.";

export class Messages {
  constructor() {
    $("error-close").addEventListener("click", () => this.hideError());
  }

  error(text) {
    setText($("error-text"), text);
    $("error").hidden = false;
  }

  hideError() {
    $("error").hidden = true;
  }

  notice(text) {
    const box = $("notice");
    setText(box, text);
    box.hidden = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { box.hidden = true; }, NOTICE_MILLISECONDS);
  }

  connection(isOpen) {
    $("connection").hidden = isOpen;
    setText($("connection"), isOpen ? "" : LOST);
  }
}
