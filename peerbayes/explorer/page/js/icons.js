// Icons, drawn as strokes in the colour of the text. They are never the only name of a control.

import { svg } from "./dom.js";

const paths = {
  undo: "M9 14 4 9l5-5 M4 9h10a6 6 0 0 1 0 12h-3",
  redo: "M15 14l5-5-5-5 M20 9H10a6 6 0 0 0 0 12h3",
  open: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  save: "M12 4v11 M7 10.5l5 5 5-5 M4 20h16",
  share: "M10 14a4.5 4.5 0 0 0 6.4 0l3-3A4.5 4.5 0 0 0 13 4.600l-1.200 1.200 M14 10a4.500 4.500 0 0 0-6.400 0l-3 3A4.500 4.500 0 0 0 11 19.400l1.200-1.200",
  pin: "M9 4h6l-1 6 3 3v2H7v-2l3-3z M12 15v6",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  keys: "M9.500 9a2.600 2.600 0 1 1 3.700 2.400c-.8.4-1.200 1-1.200 1.900v.5 M12 17.400v.1",
  move: "M5 3l6.500 17 2.400-7.100L21 10.500z",
  agent: "M12 8v8 M8 12h8 M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  link: "M7.500 16.500 16 8 M9.500 7.500H16.500V14.500 M5 21a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  data: "M12 4c4.400 0 8 1.300 8 3s-3.600 3-8 3-8-1.300-8-3 3.600-3 8-3z M4 7v10c0 1.700 3.600 3 8 3s8-1.300 8-3V7 M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  cut: "M6 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6z M6 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6z M8.500 8 20 18 M8.500 16 20 6",
  fit: "M4 9V4h5 M20 9V4h-5 M4 15v5h5 M20 15v5h-5",
  tidy: "M12 5a2 2 0 1 0 0-.1 M5 19a2 2 0 1 0 0-.1 M19 19a2 2 0 1 0 0-.1 M11 7 6 16.500 M13 7l5 9.500 M7.500 19h9",
  more: "M5 12h.1 M12 12h.1 M19 12h.1",
  close: "M6 6l12 12 M18 6 6 18",
  remove: "M4 7h16 M9 7V4h6v3 M6 7l1 13h10l1-13",
  bothways: "M4 9h16 M16 5l4 4-4 4 M20 15H4 M8 11l-4 4 4 4",
};

export const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" }, svg("path", { d: paths[name] }));
