"""The paper's table of models, and the rows of non-reversible parallel tempering in its table of comparisons."""

from sterna.paper.runs import Case

TABLE1 = [
    Case("change_point", "change_point", 74, 3, 4.0, 20),
    # 5000 scans in total, as in the paper, 2046 of them for tuning; its text has one variable fewer than its code
    Case("copy_number", "copy_number", 6206, 30, 13.0, 50, n_rounds=10, n_scans=2954, heavy=True),
    Case("discrete", "discrete", None, 3, 0.4, 30),
    Case("elliptic", "elliptic", None, 2, 4.4, 30),
    Case("glm", "glm", 23, 2, 3.3, 15, {"clip": 1e-6}),
    Case("hierarchical", "hierarchical", 5667, 369, 12.0, 30),
    Case("ising", "ising", None, 25, 3.1, 30, {"size": 5, "coupling": 1.0}),
    Case("magnetic", "magnetic", None, 25, 2.3, 30),
    Case("mixture", "mixture", 300, 305, 8.2, 30),
    Case("mixture_150", "mixture", 150, 155, 5.5, 20, {"size": 150}),
    Case("normal", "normal", None, 5, 1.4, 30),
    Case("ode", "ode", 52, 5, 6.4, 50, {"naive": True}),
    # The paper does not state the number of scans. A scan of 300 chains with one exploration takes 0.16 s on one core,
    # and these 9094 scans take 25 minutes; "auto" would explore ten times as much.
    Case("phylo_cancer", "phylo_cancer", 192763, 192765, 88.0, 300, explorations=1, heavy=True),
    Case("phylo_species", "phylo_species", 249, 10395, 7.1, 30),
    Case("product", "product", 100000, 2, 3.7, 15),
    Case("rotor", "rotor", None, 25, 3.3, 40),
    Case("spike_slab", "spike_slab", 200, 19, 4.7, 30, {"naive": True}),
    # from the table of comparisons
    Case("wright_fisher", "wright_fisher", None, 9, 3.42, 15),
]

TABLE2 = [
    Case("spike_slab", "spike_slab", 200, 19, 4.59, 15, {"naive": True}, 0.672),
    Case("hierarchical", "hierarchical", 5667, 369, 12.08, 34, acceptance=0.634),
    Case("wright_fisher", "wright_fisher", None, 9, 3.42, 15, acceptance=0.755),
    Case("ising", "ising", None, 25, 3.01, 15, {"size": 5, "coupling": 1.0}, 0.785),
]

TABLES = {"table1": TABLE1, "table2": TABLE2}
