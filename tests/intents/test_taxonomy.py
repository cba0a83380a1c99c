from __future__ import annotations

import numpy as np
import pytest

from iac_lib.intents.taxonomy import (
    LEVELS,
    TaxonomyError,
    group_codes,
    load_taxonomy,
    validate_groups,
)


@pytest.mark.parametrize("classes", LEVELS)
def test_levels_have_their_size_and_cover_the_thirty(classes):
    taxonomy = load_taxonomy(classes)
    assert len(taxonomy) == len(set(taxonomy.names)) == classes
    assert all(taxonomy.descriptions)
    covered = [name for group in taxonomy.members for name in group]
    assert sorted(covered) == sorted(load_taxonomy(30).names)
    codes = group_codes(classes)
    assert codes.dtype == np.int64
    assert np.unique(codes).tolist() == list(range(classes))


def test_codes_follow_the_papers_order():
    names = load_taxonomy(30).names
    assert names[0] == "general_explanations_definitions"
    assert (names[4], names[12], names[29]) == (
        "code_generation",
        "chitchat",
        "system_admin_devops",
    )
    assert group_codes(30).tolist() == list(range(30))


@pytest.mark.parametrize(
    ("classes", "group"), [(20, "coding_and_systems"), (10, "coding_debugging")]
)
def test_coding_is_one_group(classes, group):
    names, codes = load_taxonomy(30).names, group_codes(classes)
    coding = [names.index(n) for n in ("code_generation", "code_debugging", "system_admin_devops")]
    assert {load_taxonomy(classes).names[codes[c]] for c in coding} == {group}


def test_ten_groups_cut_only_one_of_the_twenty():
    """C.3 merges C.1, not C.2: data work and research part again."""
    twenty, ten = group_codes(20), group_codes(10)
    cut = [n for g, n in enumerate(load_taxonomy(20).names) if len(set(ten[twenty == g])) > 1]
    assert cut == ["research_deep_dive"]


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ({"x": ["a"]}, "'b' is in no group"),
        ({"x": ["a", "b"], "y": ["b"]}, "'b' is in more than one group"),
        ({"x": ["a", "b", "c"]}, "'c' is not one of the thirty"),
    ],
)
def test_wrong_groups_are_refused(groups, problem):
    with pytest.raises(TaxonomyError, match=problem):
        validate_groups(groups, ("a", "b"))


def test_unknown_level_is_refused():
    with pytest.raises(TaxonomyError, match="none of 15"):
        load_taxonomy(15)
