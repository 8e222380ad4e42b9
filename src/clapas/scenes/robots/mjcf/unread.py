"""Elements of MJCF that are not read: without effect on the motion, or named in a note.

Contacts are rigid here: what MuJoCo says of their softness has no meaning.
"""

from __future__ import annotations

from clapas.scenes.robots.mjcf.actuators import KINDS

_LOOKS = (
    *"light camera site texture material visual statistic sensor custom".split(),
    *"size text numeric skin".split(),
)
IGNORED = {
    **{f"<{tag}>": "looks and sensors" for tag in _LOOKS},
    **{f"{name} of <geom>": "" for name in ("rgba", "material", "group", "name", "fitscale", "user")},
    **{f"{name} of <mesh>": "" for name in ("name", "maxhullvert", "smoothnormal")},
    **{f"{name} of <joint>": "" for name in ("group", "user", "pos", "axis")},
    **{f"{name} of <body>": "" for name in ("user", "sleep")},
    **{f"{name} of <{tag}>": "" for name in ("group", "user") for tag in (*KINDS, "spatial")},
    **{f"{name} of <spatial>": "" for name in ("rgba", "material", "width")},
    **{
        f"{name} of <compiler>": ""
        for name in "autolimits texturedir assetdir discardvisual fusestatic strippath usethread "
        "convexhull alignfree".split()
    },
    **{
        f"{name} of <option>": ""
        for name in "integrator cone jacobian solver iterations tolerance ls_iterations ls_tolerance "
        "impratio "
        "noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance".split()
    },
    "<user>": "",
}
UNUSED = {
    **{
        f"{name} of <geom>": "contacts are rigid"
        for name in ("solref", "solimp", "margin", "gap", "solmix", "priority")
    },
    **{
        f"{name} of <{tag}>": "limits and friction in joints are exact"
        for name in ("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin")
        for tag in ("joint", "spatial")
    },
    "springdamper of <joint>": "give stiffness and damping",
    "condim of <geom>": "friction against sliding only",
    **{
        f"{name} of <{tag}>": "targets are not cut: cut them in the loop"
        for name in ("ctrlrange", "ctrllimited", "inheritrange")
        for tag in KINDS
    },
}
