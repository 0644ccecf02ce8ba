// Where the frames come from: a live server over a WebSocket. `recorded.js` has the same interface for an exported page.

import { decodeFrame } from "./frames.js";

const RETRY_FIRST = 400;
const RETRY_MAX = 3000;

export class LiveSource {
  // on: {opened, state, found, error, connection}
  constructor(on, maxMessage) {
    this.on = on;
    this.maxMessage = maxMessage;
    this.pending = [];
    this.answers = new Map();
    this.nextId = 1;
    this.retry = RETRY_FIRST;
    this.current = null;
    this.refused = false;
    this.connect();
  }

  connect() {
    const url = new URL("socket", location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    url.hash = "";
    url.search = "";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    socket.onopen = () => {
      this.retry = RETRY_FIRST;
      this.on.connection(true);
      if (this.current) this.sendOpen();
    };
    socket.onmessage = (event) => this.receive(event.data);
    socket.onclose = (event) => {
      this.pending = [];
      for (const { reject } of this.answers.values()) reject(new Error("The connection to the server was lost."));
      this.answers.clear();
      if (this.refused) return;
      this.on.connection(false, event.code);
      setTimeout(() => this.connect(), this.retry);
      this.retry = Math.min(this.retry * 1.6, RETRY_MAX);
    };
  }

  get ready() {
    return this.socket.readyState === WebSocket.OPEN;
  }

  send(message) {
    const text = JSON.stringify(message);
    if (text.length > this.maxMessage) {
      this.on.error({ message: `This is too large for the studio (${text.length} characters; at most ${this.maxMessage}).` });
      return false;
    }
    if (this.ready) this.socket.send(text);
    return this.ready;
  }

  // The lanes of a setup, advanced to a step. After a lost connection the same is asked for again.
  open(setup, { step = 0, playing = false, speed = 0 } = {}) {
    this.current = { setup, step, playing, speed };
    if (this.ready) this.sendOpen();
  }

  sendOpen() {
    this.openId = this.nextId++;
    this.pending = [];
    this.send({ type: "open", id: this.openId, ...this.current });
  }

  // What to ask for after a lost connection.
  remember(changes) {
    if (this.current) Object.assign(this.current, changes);
  }

  play(speed, until = null) { this.remember({ playing: true, speed }); this.send({ type: "play", speed, until }); }
  pause() { this.remember({ playing: false }); this.send({ type: "pause" }); }
  step(count = 1) { this.remember({ playing: false }); this.send({ type: "step", count }); }
  nextEvent(kind) { this.remember({ playing: false }); this.send({ type: "event", kind }); }
  skipTo(step) { this.play(0, step); }
  seek(step) { this.remember({ playing: false }); this.send({ type: "seek", step }); }
  setSpeed(speed) { this.remember({ speed }); this.send({ type: "speed", speed }); }
  shown(count) { this.send({ type: "ack", count }); }

  // A question with an answer of its own: check, export, results.
  ask(type, fields = {}) {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.answers.set(id, { resolve, reject });
      if (!this.send({ type, id, ...fields })) {
        this.answers.delete(id);
        reject(new Error("There is no connection to the server."));
      }
    });
  }

  receive(data) {
    if (data instanceof ArrayBuffer) {
      this.pending.push(decodeFrame(data));
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "state") {
      const frames = this.pending;
      this.pending = [];
      this.remember({ step: message.step, playing: message.playing });
      this.on.state(message, frames);
    } else if (message.type === "opened") {
      if (message.id === this.openId) this.on.opened(message);
    } else if (message.type === "found") {
      this.on.found(message.text);
    } else if (message.type === "answer") {
      this.answers.get(message.id)?.resolve(message);
      this.answers.delete(message.id);
    } else if (message.type === "error") {
      this.receiveError(message);
    }
  }

  receiveError(message) {
    if (message.about === "connect") this.refused = true;
    const waiting = this.answers.get(message.id);
    if (waiting) {
      this.answers.delete(message.id);
      waiting.reject(new Error(message.message));
    } else {
      this.on.error(message);
    }
  }
}
