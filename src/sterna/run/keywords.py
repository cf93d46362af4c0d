"""What users of other samplers may call the options of `sterna.sample`, and what sterna has instead."""

_COPIES = (
    "independent runs are called copies here, n_copies= (by default 1); n_chains= is the number of annealed chains in "
    "each copy, which the run finds by itself"
)
_SCANS = (
    "give n_scans=, the number of sampling scans, each of which yields one draw per copy; by default as many as tuning "
    "takes"
)
_ROUNDS = "give n_rounds=: the run tunes itself in rounds of 2, 4, 8, ... scans, whose draws are not kept"
_SEED = "give seed=, a whole number, or None for one that is drawn and reported"
_WORKERS = "give workers=, the number of threads (of processes, if the target runs as Python), an executor or a pool"
_CHAINS = "give n_chains=, the number of annealed chains from the reference to the target; by default the run finds it"
_EXPLORER = 'give explorer=, such as "slice" or sterna.HMC(); by default the run chooses the best that suits the target'
_TUNED = "explorers tune themselves; what can be set is an option of theirs, as in explorer=sterna.HMC(steps=20)"
_PROGRESS = "give progress=False to show nothing"
_START = 'a run starts from draws of the reference, or with start="smc" from particles, so it needs no starting point'
_DATA = 'give data= by name, as in data={"y": y}, and name parameters of the function after them'
_TARGET = "the log-likelihood is the first argument, target, and is passed without a name"
_REFERENCE = (
    'give reference= (or prior=), a dict of distributions such as {"mu": sterna.Normal(0, 10)}; see also '
    "sterna.PriorTransform and sterna.from_log_prior"
)
_OF_TARGET = "give it to sterna.Target, and that to sterna.sample"
_STOP = 'give until=, such as {"log_evidence": 0.05, "ess": 400}, or max_seconds='
_FOLDER = "give folder=, to which the run is written while it goes on; sterna.resume goes on with it"
_ARVIZ = "a result has its draws in result.posterior, and result.to_arviz() for ArviZ"

HINTS = {
    keyword: hint
    for keywords, hint in (
        ("chains num_chains nchains nwalkers n_walkers walkers num_walkers n_ensembles runs n_runs copies", _COPIES),
        (
            "draws n_samples num_samples nsamples samples n_draws ndraws iter iter_sampling n_iter niter iterations "
            "n_iterations nsteps n_steps num_steps steps num_results n_total n_effective neff scans",
            _SCANS,
        ),
        ("nlive n_live live_points num_live_points npoints", f"nested sampling's live points have none here; {_SCANS}"),
        (
            "tune n_tune warmup num_warmup n_warmup iter_warmup burn burnin burn_in n_burn nburn discard rounds "
            "num_burnin_steps num_adaptation_steps",
            _ROUNDS,
        ),
        ("random_seed rng_seed rng rng_key random_state rstate key prng_key seeds", _SEED),
        (
            "cores num_cores n_jobs njobs jobs nprocs n_processes processes threads n_threads num_threads pool "
            "executor parallel parallel_chains num_workers n_workers chain_method",
            _WORKERS,
        ),
        ("ntemps n_temps num_temps n_temperatures temperatures temps tmax n_replicas num_replicas replicas", _CHAINS),
        ("betas beta ladder temperature_ladder inverse_temperatures", "give schedule=, the betas of the first round"),
        (
            "step steps_method sampler nuts_sampler kernel algorithm method proposal moves move explorers bound sample",
            _EXPLORER,
        ),
        (
            "target_accept target_accept_prob adapt_delta step_size step_scale stepsize max_treedepth max_tree_depth "
            "tune_interval dense_mass adapt_step_size num_leapfrog_steps path_length nuts_sampler_kwargs",
            _TUNED,
        ),
        ("progressbar progress_bar verbose show_progress quiet print_progress disp silent", _PROGRESS),
        ("thinning thin_by", "give thin="),
        (
            "p0 initial init inits initvals x0 init_params initial_params initial_state initial_point jitter",
            _START,
        ),
        ("args kwargs observed observations logl_args logl_kwargs y observed_data model_args model_kwargs", _DATA),
        (
            "log_likelihood loglikelihood loglike log_like likelihood log_prob log_prob_fn log_probability logp lnprob "
            "logpost log_posterior log_density function model fn potential_fn",
            _TARGET,
        ),
        ("priors log_prior lnprior prior_transform ptform ndim bounds parameters dim", _REFERENCE),
        ("gradient grad local_change kernels view compile name", _OF_TARGET),
        ("maxiter maxcall dlogz max_time timeout n_like_max tol stop", _STOP),
        ("return_inferencedata idata_kwargs trace", _ARVIZ),
        (
            "backend out output outdir output_dir directory path_out filepath checkpoint checkpoint_file h5file label",
            _FOLDER,
        ),
        ("vectorize batched", "give vectorized=True for a function of many points at once"),
    )
    for keyword in keywords.split()
}
