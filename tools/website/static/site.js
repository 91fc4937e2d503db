// @ts-check
// The site's pages come alive: pictures without a kernel, questions that can be answered.

(() => {
  /** @type {Record<string, Promise<any>>} */
  const loaded = {};

  /** Load a script that stands as text in pictures.js: a page opened from a file may load no module.
   * @param {string} name */
  function load(name) {
    const text = /** @type {any} */ (window).mhaScripts[name];
    loaded[name] ??= import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
    return loaded[name];
  }

  /** Start one picture and put it in its fallback's place.
   * @param {HTMLElement} live */
  async function start(live) {
    const [standalone, module] = await Promise.all([load("standalone"), load(live.dataset.module ?? "")]);
    const state = JSON.parse(live.querySelector(":scope > script")?.textContent ?? "{}");
    await standalone.start(live.querySelector(".mha-site-picture"), module, state);
    live.classList.add("mha-site-started");
  }

  /** The sentence for the chosen option, from the list beside the place where it is said.
   * @param {ParentNode} where @param {number} chosen */
  function say(where, chosen) {
    const said = JSON.parse(where.querySelector(":scope > script")?.textContent ?? "[]");
    const place = where.querySelector(":scope > .mha-site-judged");
    if (place) place.textContent = said[chosen];
  }

  /** A choice is judged where the question says so: at once in the quiz, else beside its answer.
   * @param {Event} event */
  function chosen(event) {
    const input = event.target;
    if (!(input instanceof HTMLInputElement)) return;
    const form = input.closest(".mha-site-question");
    if (!form) return;
    if (form.querySelector(":scope > .mha-site-judged")) say(form, Number(input.value));
    for (const answer of document.querySelectorAll(".mha-site-answer")) {
      if (answer instanceof HTMLElement && answer.dataset.question === input.name) say(answer, Number(input.value));
    }
  }

  /** Nothing is sent anywhere: Enter in a question must not load the page anew.
   * @param {Event} event */
  function stay(event) {
    if (event.target instanceof HTMLElement && event.target.matches(".mha-site-question")) event.preventDefault();
  }

  document.addEventListener("change", chosen);
  document.addEventListener("submit", stay);
  const pictures = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".mha-site-live"));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      void start(/** @type {HTMLElement} */ (target));
    }
  }, { rootMargin: "600px" });
  for (const picture of pictures) seen.observe(picture);
})();
