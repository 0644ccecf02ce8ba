// The modules of the page that need no page: frames, texts, links, maps, random numbers.

import assert from "node:assert/strict";
import test from "node:test";

import { RandomStream } from "./build/engine.js";
import { decodeFrame, distinctTexts, formatNumber, lackTexts, rankedStates, relativeValues } from "./build/frames.js";
import { decodeLink, encodeLink } from "./build/link.js";
import { MapModel, fromWorld, parseSettings, toText } from "./build/map-model.js";
import { sentenceOf } from "./build/sentence.js";
import { scalesFor } from "./build/view.js";

const WORLD = { actions: ["left", "right"] };

function frameOf(fields) {
  const frame = { states: 1, actions: 2, agent: 0, randomness: 0, visits: Uint32Array.of(3, 0), behaviour: Float32Array.of(1, 0), w: null, preferred: [2], ...fields };
  return { score: frame.behaviour, ...frame };
}

test("a frame has the tables that its flags name", () => {
  const tables = [[3, 1], [0.5, 2], [7, 8], [9, 4]];
  const buffer = new ArrayBuffer(40 + 4 * 2 * 4 + 4 + 2), view = new DataView(buffer);
  view.setUint8(5, 2);
  view.setUint16(6, 1, true);
  for (const [at, value] of [[8, 12], [16, 0], [20, 1], [28, 1], [32, 2]]) view.setUint32(at, value, true);
  tables[0].forEach((value, i) => view.setUint32(40 + 4 * i, value, true));
  tables.slice(1).flat().forEach((value, i) => view.setFloat32(48 + 4 * i, value, true));
  view.setInt32(72, 0, true);
  view.setUint8(76, 2);
  view.setUint8(77, 1);
  const frame = decodeFrame(buffer);
  assert.deepEqual([frame.step, frame.stateVisits[0], [...frame.q], [...frame.w], [...frame.score]], [12, 4, ...tables.slice(1)]);
  assert.equal(frame.behaviour, frame.q);
  assert.deepEqual([frame.greedy[0], frame.preferred[0], [...frame.trail]], [2, 1, [0]]);
});

test("numbers have the digits that tell them apart", () => {
  assert.deepEqual([formatNumber(null), formatNumber(0), formatNumber(12345.678), formatNumber(1e-5)], ["–", "0", "12350", "1.00e-5"]);
  assert.deepEqual(distinctTexts([4.63901, 4.63902]), ["4.63901", "4.63902"]);
  assert.deepEqual(distinctTexts([9466.77, 9466.31]), ["9466.8", "9466.3"]);
});

test("colours compare the actions of one state, and actions that were not tried have none", () => {
  const frame = { states: 2, actions: 3, visits: Uint32Array.of(1, 1, 0, 1, 1, 1), stateVisits: [2, 3] };
  const values = Float64Array.of(5, 7, 99, 1, 2, 3);
  assert.deepEqual([...relativeValues(values, frame, false)], [0, 1, NaN, 0, 0.5, 1]);
  assert.deepEqual([...relativeValues(values, frame, true)], [1, 0, NaN, 1, 0.5, 0]);
  assert.deepEqual([...relativeValues(new Float64Array(6), frame, true)], [1, 1, NaN, 1, 1, 1], "equal actions are all the best");
  assert.deepEqual([...rankedStates(values, frame, false)], [NaN, 0]);
});

test("numbers of a state say what its colours compare", () => {
  assert.deepEqual(lackTexts([3800.7, 3800.69, 178.96], false), ["3801", "−0.01", "−3600"]);
  assert.deepEqual(lackTexts([2, 2, 2.5], true), ["2", "2", "+0.5"]);
});

test("lanes have one colour scale, unless each shall have its own", () => {
  const frames = [4, 8].map((visits) => ({ ...frameOf({ visits: Uint32Array.of(visits, 0) }), stateVisits: [visits] }));
  const highs = (shared) => scalesFor(frames, { layer: "action-visits", scale: "auto", shared }).map(({ high }) => high);
  assert.deepEqual([highs(true), highs(false)], [[8, 8], [4, 8]]);
  assert.equal(scalesFor(frames, { layer: "action-visits", scale: "log", shared: true })[0].at(0.5), 2, "whole visits");
});

test("a sentence names the number that decides", () => {
  const said = (fields, lane = {}) => sentenceOf(WORLD, frameOf(fields), lane, null).join("");
  assert.match(said({ w: Float32Array.of(4, 9), score: Float32Array.of(5, 9) }), /^right: never tried, so its W \(9.*\) beats 4.* of left, although Q of left is larger/);
  assert.match(said({ preferred: [3] }), /^any action/);
  assert.match(said({ randomness: 1 }), /same probability/);
});

test("a link carries a setup with any letters", () => {
  const setup = { world: "ε-Labyrinth ☺", lanes: [{ explorer: "vv-ucb" }] };
  assert.deepEqual(decodeLink(encodeLink(setup)), setup);
  assert.equal(decodeLink("%%%"), null);
});

test("a painted map is written as text; its changes can be undone", () => {
  const model = MapModel.blank(1, 3);
  model.begin();
  model.cells[2] = { kind: "treasure", value: 5, enter: 2 };
  model.settings.horizon = 7;
  model.commit();
  assert.equal(toText(model), "S.A\n\nA = treasure 5 enter right\nhorizon = 7\n");
  assert.deepEqual(parseSettings(toText(model)), { horizon: 7 });
  assert.equal(toText(fromWorld(model.asWorld(), model.settings)), toText(model));
  assert.equal(model.undo(), true);
  assert.equal(toText(model), "S..\n");
  assert.equal(model.redo() && !model.redo(), true);
});

test("random numbers are the library's", () => {
  const random = new RandomStream(3, "explorer");
  assert.deepEqual([random.uniform(), random.uniform(), random.uniform()], [0.5364819023659787, 0.735345318604341, 0.7551098690214706]);
  assert.equal(random.below(10), 4);
  assert.deepEqual(random.twoBelow(7, 5), [5, 4]);
});
