"""Keys for ipywidgets' controls inside JupyterLab."""

import anywidget
import ipywidgets


class OwnKeys(anywidget.AnyWidget):
    """Unseen: shares the keys between the notebook and the controls in a box of class WHERE.

    Letters and arrows stay with the control that has the focus; JupyterLab would take them
    from a menu or a radio button and go to another cell. Enter with Shift, Ctrl, Alt or Cmd,
    and Escape, go to the notebook: the focus moves to the cell, which gets the key. (Text
    fields of ipywidgets let no key out, so the cell gets it anew.)
    """

    WHERE = "mha-own-keys"
    _esm = """
    export default { render() {
      const mark = ({ target }) => {
        if (target.closest(".mha-own-keys")) target.setAttribute("data-lm-suppress-shortcuts", "true");
      };
      const handOn = (event) => {
        const { target, key, shiftKey, ctrlKey, altKey, metaKey } = event;
        const runs = key === "Enter" && (shiftKey || ctrlKey || altKey || metaKey);
        const cell = target.closest?.(".mha-own-keys") && target.closest(".jp-Cell");
        if (!cell || !(runs || key === "Escape")) return;
        event.stopImmediatePropagation();
        event.preventDefault();
        cell.focus();
        cell.dispatchEvent(new KeyboardEvent("keydown", event));
      };
      document.addEventListener("focusin", mark);
      window.addEventListener("keydown", handOn, true);
      return () => {
        document.removeEventListener("focusin", mark);
        window.removeEventListener("keydown", handOn, true);
      };
    } };
    """

    def __init__(self) -> None:
        super().__init__(layout=ipywidgets.Layout(display="none"))
