from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, kstest

from iac_lib.reuse.delays import (
    curves_by,
    delay_cdf,
    delay_pdf,
    delay_quantiles,
    fit_lognormal,
    qq_points,
)


@pytest.fixture
def lognormal():
    return np.random.default_rng(0).lognormal(4.6, 1.0, 20_000)


def test_quantiles_by_group_leave_out_missing_delays():
    table = pd.DataFrame({"turn": [1, 1, 1, 2], "delay_s": [10.0, 2000.0, np.nan, 30.0]})
    quantiles = delay_quantiles(table).set_index("turn")
    assert quantiles["delays"].to_dict() == {1: 2, 2: 1}
    assert quantiles.loc[1, "p50_s"] == 1005 and quantiles.loc[1, "beyond_30_min"] == 0.5


def test_cdf_counts_delays_beyond_the_limit():
    cdf = delay_cdf(np.array([1.0, 2.0, 900.0, np.nan]), limit_s=600, points=601)
    assert cdf["cdf"].iloc[[0, 1, 2, -1]].to_numpy() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])


def test_pdf_is_the_slope_of_the_cdf(lognormal):
    pdf = delay_pdf(lognormal)
    step = pdf["delay_s"].diff().iloc[-1]
    assert pdf["pdf"].sum() * step == pytest.approx((lognormal < 600).mean(), abs=0.01)
    exact = np.exp(-((np.log(100) - 4.6) ** 2) / 2) / (100 * np.sqrt(2 * np.pi))
    assert np.interp(100, pdf["delay_s"], pdf["pdf"]) == pytest.approx(exact, rel=0.05)
    kernels = gaussian_kde(np.log(lognormal))(np.log(pdf["delay_s"])) / pdf["delay_s"]
    np.testing.assert_allclose(pdf["pdf"], kernels, rtol=0.02, atol=1e-6)


def test_a_lognormal_fits_itself(lognormal):
    fit = fit_lognormal(lognormal)
    assert (fit.mu, fit.sigma) == pytest.approx((4.6, 1.0), abs=0.02)
    assert fit.ks < 0.01 and fit.r2 > 0.999
    log_delay = np.log(lognormal)
    scipy = kstest(log_delay, "norm", (log_delay.mean(), log_delay.std())).statistic
    assert fit.ks == pytest.approx(scipy)
    points = qq_points(lognormal)
    assert np.abs(points["normal"] - points["observed"]).max() < 0.1


def test_two_habits_do_not_fit_a_lognormal():
    fit = fit_lognormal(np.concatenate([np.full(500, 5.0), np.full(500, 500.0)]))
    assert fit.ks > 0.3 and fit.r2 < 0.8


def test_one_delay_has_no_law():
    with pytest.raises(ValueError, match="two different delays"):
        fit_lognormal(np.array([3.0, 3.0]))


def test_curves_by_group_leave_out_rare_groups(lognormal):
    turn = np.repeat([1, 2], [19_990, 10])
    curves = curves_by(pd.DataFrame({"turn": turn, "delay_s": lognormal}), ["turn"], delay_cdf)
    assert list(curves) == ["turn", "delay_s", "cdf"] and (curves["turn"] == 1).all()
