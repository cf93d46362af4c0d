"""What users of other libraries look for in `sterna` itself, and what sterna has instead."""

from sterna.ground.attributes import by_name

_SAMPLE = "sterna.sample(log_likelihood, reference, data) runs the sampler and returns a result"
_METROPOLIS = "sterna.Metropolis() is a random walk with a learned covariance; by default the run chooses an explorer"
_FLAT = (
    "a reference must be a distribution that can be sampled; sterna.FittedReference serves densities without one, and "
    "sterna.Uniform(lower, upper) is flat between bounds"
)
_DRAWS = "a result holds the draws, result.posterior, and result.to_arviz() converts it for ArviZ"

OTHER_NAMES = by_name(
    (
        "fit infer mcmc sampler ptsampler ensemblesampler nestedsampler sample_smc run_nested run_mcmc pt nrpt "
        "parallel_tempering paralleltempering sample_pt pigeons",
        _SAMPLE,
    ),
    ("model potential", "sterna.Target(log_likelihood, reference, data) is a model; PyMC models are taken as they are"),
    (
        "prior priors",
        'a prior is a dict of distributions, reference={"mu": sterna.Normal(0, 10)}; see also sterna.Reference and '
        "sterna.PriorTransform",
    ),
    ("nuts", "sterna.HMC() and sterna.AutoMALA() follow gradients; by default the run chooses an explorer"),
    ("mh rwmh randomwalk random_walk metropolishastings randomwalkmetropolis", _METROPOLIS),
    ("slicesampler", "it is called sterna.Slice"),
    ("demetropolis demetropolisz demove stretchmove", "sterna.Evolution() makes differential evolution moves"),
    ("gibbssampler binarygibbsmetropolis", "it is called sterna.Gibbs"),
    ("mvnormal mvn multinormal multivariategaussian", "it is called sterna.MultivariateNormal"),
    ("gaussian", "it is called sterna.Normal"),
    ("invgamma inversegammadist", "it is called sterna.InverseGamma"),
    ("student studentst student_t", "it is called sterna.StudentT"),
    ("negbinomial negativebinomial2 nbinom", "it is called sterna.NegativeBinomial"),
    ("chisquared chi2 chisquare", "it is sterna.Gamma(nu / 2, 1 / 2)"),
    ("randint integeruniform", "it is called sterna.DiscreteUniform"),
    ("circular periodic periodicuniform uniformcircular wrappeduniform", "it is called sterna.CircularUniform"),
    ("circularnormal wrappednormal von_mises", "sterna.VonMises(mu, kappa) is the distribution of an angle"),
    ("doubleexponential", "it is called sterna.Laplace"),
    ("flat halfflat improperuniform improper", _FLAT),
    ("from_jax jax jaxmodel", "sterna.JaxTarget takes a JAX function"),
    ("from_numpyro_model numpyro", "sterna.from_numpyro takes a NumPyro model"),
    ("pymc from_pm", "sterna.sample takes a PyMC model, and sterna.from_pymc turns one into a target"),
    ("summary plot trace traceplot plot_trace to_arviz from_arviz inferencedata save", _DRAWS),
    ("compare bayes_factor", "a.log_evidence - b.log_evidence of two results is a log Bayes factor with its error"),
)
