"""What users of other samplers look for in a result, and what sterna has instead."""

from sterna.ground.attributes import by_name

_DRAWS = (
    "the draws are in result.posterior, an xarray.Dataset with dimensions copy and draw, and in result.values, arrays "
    "by variable"
)
# What square brackets are told.
ITEM = 'the draws of a variable are result.posterior["mu"], and result.values["mu"] as an array'
_LOG_EVIDENCE = "it is called log_evidence, which has a value, an error and an interval()"
_SETTINGS = "it is in result.settings"
_SUMMARY = "result.summary is a table of means, standard deviations, sample sizes and R-hat"

OTHER_NAMES = by_name(
    (
        "samples sample draws draw chain flatchain get_chain get_samples trace flatsamples samples_equal results "
        "extract n_samples posterior_samples array",
        _DRAWS,
    ),
    (
        "logz log_z lnz logevidence log_marginal_likelihood marginal_likelihood log_marginal logzerr logz_err "
        "log_z_err z ml",
        _LOG_EVIDENCE,
    ),
    (
        "to_netcdf write dump to_file to_json to_pickle store",
        'result.save("folder") writes the result for sterna.load, result.posterior.to_netcdf("draws.nc") the draws for '
        "other tools, and result.to_dict() has everything but the draws for JSON",
    ),
    (
        "plot plots corner plot_trace traceplot plot_posterior hist show pairplot",
        "result.to_arviz() is what ArviZ plots, and result.posterior.to_dataframe() is a table for pandas and seaborn",
    ),
    ("to_dataframe to_pandas df dataframe to_df", "result.posterior.to_dataframe() is a table for pandas"),
    ("to_xarray dataset xarray", "result.posterior is an xarray.Dataset"),
    ("to_numpy numpy arrays", "result.values has the draws as arrays by variable"),
    (
        "idata inference_data inferencedata to_inference_data to_inferencedata to_idata to_datatree",
        "result.to_arviz() converts the result for ArviZ",
    ),
    (
        "means std sd stds median var quantile quantiles hdi rhat r_hat ess n_eff neff mcse describe get_summary "
        "print_summary stats",
        _SUMMARY,
    ),
    ("betas beta temperatures temps ladder inverse_temperatures", "the betas of the chains are in result.schedule"),
    (
        "acceptance acceptance_rate acceptance_rates acceptance_fraction swap_rate swap_rates swap_acceptance "
        "swap_acceptance_rate tswap_acceptance_fraction",
        "the share of accepted swaps between neighbouring chains is 1 - result.rejection",
    ),
    ("barrier lambda communication_barrier", "it is called global_barrier; see also cumulative_barrier(beta)"),
    (
        "log_prob lnprob logp lp log_posterior log_probability get_log_prob logl loglike log_like loglikelihood lnlike",
        "result.log_likelihood has the log-likelihood of each draw",
    ),
    ("ncall ncalls n_evals nfev n_evaluations num_evaluations n_likelihood", "it is called evaluations"),
    ("n_chains n_copies n_rounds n_scans n_draws seed thin keep workers scheme", _SETTINGS),
    ("time seconds runtime duration elapsed sampling_time", "it is called timing"),
    ("report print text", "print(result) shows the report"),
    ("weights logwt log_weights importance_weights", "there are none, because all draws have the same weight"),
    ("diagnostics converged success status check", "result.warnings says what is wrong, and is empty if nothing is"),
    ("n_restarts tempered_restarts", "it is called restarts"),
    ("n_round_trips", "it is called round_trips"),
)
