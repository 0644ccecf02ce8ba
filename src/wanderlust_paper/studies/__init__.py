"""The experiments of the paper, one module each.

    environments         Sections 1, 3.1, 3.3, 4.1 and 4.2.4   Figures 1, 2, 5, 7, 9, 11, 13 to 15 and 24, Table 2
    toy_example          Section 3       Figures 3, 4 and 6
    recap                Section 4.1     Figures 8, 10, 12, 16, 17 and 18, Tables 1 and 3 to 8
    deep_sea_ensembles   Section 4.1.1   why the bootstraps fail in some seeds
    taxi_horizon         Section 4.1.2   the shortest horizon
    visit_maps           Section 4.2.1   Figure 19
    gamma_w              Section 4.2.2   Figures 20 and 21
    deep_sea_scaling     Section 4.2.3   Figure 22
    chain                Section 4.2.4   Figures 23, 25 and 26
    stochastic           Section 4.2.5   Figure 27
    memory               Appendix A.5    Figure 28
    appendix             Appendix A      the weight of the prior; the initialization of the target table

A study has its constants, its runs, its report, and checks: functions that yield the statements of the text with our
results. Those of `recap` are in `recap_claims`, those of `toy_example` about W in `w_function_claims`.
"""
