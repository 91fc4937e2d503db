"""The whole corpus."""

from . import of_functions, of_libraries, of_one_input, with_masks

CORPUS = [*with_masks.CORPUS, *of_one_input.CORPUS, *of_functions.CORPUS, *of_libraries.CORPUS]
