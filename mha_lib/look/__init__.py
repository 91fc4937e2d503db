"""How everything looks: colours and figures (`style`), letters (`fonts`), printed tables (`table`)."""
