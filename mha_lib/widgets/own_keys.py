"""Keys for ipywidgets' controls inside JupyterLab."""

import anywidget
import ipywidgets


class OwnKeys(anywidget.AnyWidget):
    """Unseen: leaves arrows and letters to the controls that stand in a box of class WHERE.

    JupyterLab takes them from a menu or a radio button that has the focus, and goes to
    another cell; a control that carries the attribute set here keeps them.
    """

    WHERE = "mha-own-keys"
    _esm = """
    export default { render() {
      const keep = ({ target }) => {
        if (target.closest(".mha-own-keys")) target.setAttribute("data-lm-suppress-shortcuts", "true");
      };
      document.addEventListener("focusin", keep);
      return () => document.removeEventListener("focusin", keep);
    } };
    """

    def __init__(self):
        super().__init__(layout=ipywidgets.Layout(display="none"))
