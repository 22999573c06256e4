// The editing view: fields of what is selected, then the network, the model and the rest.

import { shownTogether } from "../dom.js";
import * as agents from "./agents.js";
import * as model from "./model.js";
import * as selected from "./selected.js";
import { faults, messages, network } from "./tables.js";

const parts = [selected.render, network, model.render, faults, messages, agents.render];

export const mount = (container, app) =>
  shownTogether(container, app.state, ["document", "selection", "fold"], () => parts.map((part) => part(app)));
