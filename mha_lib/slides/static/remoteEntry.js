/* Lets widgets live in jupyterlab-rise's slides.
 *
 * The widget manager asks its host for the module @jupyterlab/console, to draw widgets in
 * consoles too. JupyterLab has it; the page of the slides has no consoles and does not, so
 * the manager fails there and no widget is drawn (jupyterlab-contrib/rise#119). Here the module
 * is put where it is looked for, with the one name that is read: a token that nobody provides,
 * which says that there are no consoles. Where the module is there already nothing changes.
 *
 * A prebuilt extension is a module-federation container: an object with init and get.
 */
window._JUPYTERLAB = window._JUPYTERLAB || {};
window._JUPYTERLAB["mha-lib-slides"] = {
  init(shared) {
    const IConsoleTracker = { name: "@jupyterlab/console:IConsoleTracker" };
    shared["@jupyterlab/console"] ||= {
      "4.0.0": { get: async () => () => ({ IConsoleTracker }), from: "mha-lib-slides", loaded: true },
    };
  },
  get: async () => () => ({}),
};
