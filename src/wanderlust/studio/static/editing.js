// Changes of the setup: another world, other explorers, more or fewer lanes.

const NEW_LANES = ["vv-ucb", "epsilon-greedy", "ucb1"];

export function chooseWorld(app, value) {
  const [kind, name] = value.split(":");
  const start = { step: 0, playing: false };
  if (kind === "gallery") {
    const world = app.catalogue.gallery.find((each) => each.name === name);
    app.change({ world: world.name, world_options: { map: world.map }, settings: {} }, start);
    app.notice(world.explanation);
  } else if (kind === "world") {
    app.change({ world: name, world_options: {}, settings: {} }, start);
    app.notice(app.catalogue.worlds.find((each) => each.name === name).meaning);
  }
}

// changes: {explorer, preset, options, settings}; an option that is null gets its default.
export function changeLane(app, number, changes) {
  const lanes = app.setup.lanes.map((lane) => ({ ...lane }));
  const lane = lanes[number];
  if (changes.explorer) Object.assign(lane, { explorer: changes.explorer, options: {} });
  if (changes.preset) lane.preset = changes.preset;
  for (const part of ["options", "settings"]) {
    lane[part] = { ...lane[part], ...changes[part] };
    for (const [name, value] of Object.entries(lane[part])) if (value === null) delete lane[part][name];
  }
  app.change({ lanes });
}

export function addLane(app) {
  const used = app.setup.lanes.map((lane) => lane.explorer);
  const explorer = NEW_LANES.find((name) => !used.includes(name)) ?? NEW_LANES[0];
  app.change({ lanes: [...app.setup.lanes, { explorer }] });
}

export function removeLane(app, number) {
  app.change({ lanes: app.setup.lanes.filter((_, i) => i !== number) });
}

export function nextSeed(app) {
  app.change({ seed: (Number(app.setup.seed) + 1) % 2147483647 }, { step: 0 });
}
