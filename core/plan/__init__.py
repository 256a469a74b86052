"""From a graph to rules: for each field, what may end it, as the template has it and as models write it instead."""
