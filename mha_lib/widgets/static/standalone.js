// @ts-check
// A widget without a kernel: its saved state, and a model that stands in for Jupyter's.

/** @typedef {{default: {render: (context: {model: object, el: HTMLElement}) => unknown}}} Module */

/** The bytes of a base64 text.
 * @param {string} base64 */
export function bytes(base64) {
  return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
}

/** A saved value as the widget knows it: {"base64": …} and {"deflate": …} become bytes.
 * @param {any} value
 * @returns {Promise<unknown>} */
export async function open(value) {
  if (value?.base64 !== undefined) return new DataView(bytes(value.base64).buffer);
  if (value?.deflate === undefined) return value;
  const unpacked = new Blob([bytes(value.deflate)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new DataView(await new Response(unpacked).arrayBuffer());
}

/** A model with what a widget asks of one: get, set, save_changes, on and off.
 * @param {Record<string, unknown>} values */
export function standIn(values) {
  /** @type {Record<string, Array<() => void>>} */
  const listeners = {};
  return {
    /** @param {string} name */
    get: (name) => values[name],
    /** @param {string} name @param {unknown} value */
    set: (name, value) => {
      values[name] = value;
      for (const call of listeners[`change:${name}`] || []) call();
    },
    save_changes: () => {},
    /** @param {string} event @param {() => void} call */
    on: (event, call) => { (listeners[event] = listeners[event] || []).push(call); },
    /** @param {string} event @param {() => void} call */
    off: (event, call) => { listeners[event] = (listeners[event] || []).filter((other) => other !== call); },
    send: () => {},
  };
}

/** Show a widget in `el`: its module, and its state as `page_state()` gives it.
 * @param {HTMLElement} el @param {Module} module @param {Record<string, unknown>} plain */
export async function start(el, module, plain) {
  const names = Object.keys(plain);
  const values = await Promise.all(names.map((name) => open(plain[name])));
  return module.default.render({ model: standIn(Object.fromEntries(names.map((name, i) => [name, values[i]]))), el });
}
