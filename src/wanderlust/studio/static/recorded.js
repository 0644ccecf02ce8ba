// A recorded run, embedded in an exported page; the interface is that of `LiveSource`.

import { decodeFrame } from "./frames.js";

export class RecordedSource {
  constructor(recording, on) {
    this.recording = recording;
    this.on = on;
    this.position = 0;
    this.speed = 0;
    this.playing = false;
    this.shownIndex = -1;
    this.lanes = [];
  }

  async start() {
    const { recording } = this;
    this.on.opened(recording);
    this.lanes = await Promise.all(recording.frames.map((text, i) => unpack(text, recording.steps.length, recording.frameBytes[i])));
    this.news = recording.news;
    this.show(0);
  }

  get length() {
    return this.recording.steps.at(-1);
  }

  show(index) {
    this.shownIndex = index;
    const step = this.recording.steps[index];
    const lanes = this.news ?? this.recording.news.map((lane) => ({ first: lane.points.length, points: [], events: [] }));
    this.news = null;
    const frames = this.lanes.map((lane) => decodeFrame(lane(index)));
    this.on.state({ step: this.length, shown: step, playing: this.playing, busy: false, lanes }, frames);
  }

  // The last recorded moment that is not later than a step; a frame of the screen may have begun before the run.
  indexAt(step) {
    return Math.max(this.recording.steps.findLastIndex((each) => each <= step), 0);
  }

  play(speed, until = null) {
    this.speed = speed;
    this.until = until ?? this.length;
    if (this.position >= this.until) this.position = 0;
    if (this.playing) return;
    this.playing = true;
    this.last = performance.now();
    requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    if (!this.playing) return;
    // As fast as possible: the whole run in four seconds.
    const speed = this.speed || this.length / 4;
    this.position = Math.min(this.position + ((now - this.last) / 1000) * speed, this.until);
    this.last = now;
    if (this.position >= this.until) this.playing = false;
    const index = this.indexAt(Math.floor(this.position));
    if (index !== this.shownIndex || !this.playing) this.show(index);
    if (this.playing) requestAnimationFrame((later) => this.tick(later));
  }

  pause() {
    this.playing = false;
    if (this.shownIndex >= 0) this.show(this.shownIndex);
  }

  step(count = 1) {
    this.playing = false;
    const index = Math.min(Math.max(this.shownIndex + count, 0), this.recording.steps.length - 1);
    this.position = this.recording.steps[index];
    this.show(index);
  }

  seek(step) {
    this.playing = false;
    this.position = step;
    this.show(this.indexAt(step));
  }

  skipTo(step) {
    this.seek(step);
  }

  restart() {
    this.seek(0);
  }

  setSpeed(speed) { this.speed = speed; }
  nextEvent() {}
  shown() {}
}

// Undoes `pack` of export.py; returns a function that gives the bytes of a frame by its index.
async function unpack(text, count, frameBytes) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const words = planes.length / 4 / count;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0, at = 0; plane < 4; plane++) {
    for (let i = 0; i < count * words; i++, at++) bytes[i * 4 + plane] = planes[at];
  }
  const all = new Uint32Array(bytes.buffer);
  for (let i = words; i < all.length; i++) all[i] ^= all[i - words];
  return (index) => bytes.buffer.slice(index * words * 4, index * words * 4 + frameBytes);
}
