// A problem in a link: its document and positions, deflated, in the part after #, which no browser sends.

const mark = "#problem=";
const most = 2_000_000; // characters of a link that is read
const tooLarge = "This link holds a problem of more than four million characters: save it as a file.";

export async function linkOf(state, address) {
  const positions = state.positions.map((place) => place.map((x) => Math.round(x * 1e4) / 1e4));
  const text = JSON.stringify({ document: state.document, positions });
  return `${address}${mark}${encoded(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text)))}`;
}

/** {document, positions} of a link (or of what stands after its #), or null if it holds no problem. */
export async function readLink(link) {
  const at = link.indexOf(mark);
  if (at < 0) return null;
  if (link.length > most) throw new Error("This link is longer than two million characters.");
  try {
    const bytes = decoded(link.slice(at + mark.length).trim());
    const text = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes));
    const { document, positions } = JSON.parse(text);
    const placed =
      Array.isArray(positions) &&
      positions.every((place) => Array.isArray(place) && place.length === 2 && place.every(Number.isFinite));
    return { document, positions: placed ? positions : null };
  } catch (error) {
    if (error.message === tooLarge) throw error;
    throw new Error("This link is cut off or damaged: copy it whole.");
  }
}

/** Bytes through a compressor; what comes out is bounded, so that no link can fill the memory. */
async function through(transform, bytes) {
  const reader = pieces(bytes).pipeThrough(transform).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > 4e6) {
      await reader.cancel();
      throw new Error(tooLarge);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Bytes, piece by piece as they are asked for: a browser inflates each whole, to a thousand times its size. */
function pieces(bytes) {
  let at = 0;
  const pull = (to) => (at < bytes.length ? to.enqueue(bytes.subarray(at, (at += 1024))) : to.close());
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

function encoded(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decoded(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
