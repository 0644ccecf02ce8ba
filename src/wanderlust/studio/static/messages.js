// The messages at the bottom of the page: errors, notices, and whether the server can be reached.

import { $, setText } from "./dom.js";

// Long enough to read a notice, and not much longer: it covers a part of the page.
const NOTICE_LEAST = 4000;
const NOTICE_PER_CHARACTER = 60;
const LOST = "The server cannot be reached. Start it again with “wanderlust studio”; this page reconnects by itself and goes on where it was.";

export class Messages {
  constructor() {
    $("error-close").addEventListener("click", () => this.hideError());
    $("notice-close").addEventListener("click", () => { $("notice").hidden = true; });
  }

  /** @param {string} text */
  error(text) {
    setText($("error-text"), text);
    $("error").hidden = false;
  }

  hideError() {
    $("error").hidden = true;
  }

  /** @param {string} text */
  notice(text) {
    const box = $("notice");
    setText($("notice-text"), text);
    box.hidden = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { box.hidden = true; }, Math.max(NOTICE_LEAST, NOTICE_PER_CHARACTER * text.length));
  }

  /** @param {boolean} isOpen */
  connection(isOpen) {
    $("connection").hidden = isOpen;
    setText($("connection"), isOpen ? "" : LOST);
  }
}
