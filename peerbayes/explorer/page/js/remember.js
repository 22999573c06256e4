// The tab's work, kept in the tab's own storage, so that a reload or a lost server loses nothing.

const place = "peerbayes-explore";
const most = 4_000_000; // characters; browsers keep some five million

/** Keeps the document, the positions, the pin and the settings after each change. */
export function remember(state) {
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    timer = setTimeout(write, 150);
  };
  const write = () => {
    clearTimeout(timer);
    if (!state.document) return;
    const work = JSON.stringify({
      server: location.search, // its token: another server's problem is not this one's
      document: state.document,
      positions: state.positions,
      settings: state.settings,
      pinned: state.pinned && { document: state.pinned.document, positions: state.pinned.positions },
    });
    try {
      if (work.length <= most) sessionStorage.setItem(place, work);
    } catch {
      /* a full or forbidden storage: the page works without */
    }
  };
  for (const topic of ["document", "positions", "pinned", "settings"]) state.on(topic, keep);
  addEventListener("pagehide", write);
}

/** What was kept, or null. */
export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(place));
  } catch {
    return null;
  }
}
