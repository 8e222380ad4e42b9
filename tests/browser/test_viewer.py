"""The page in a browser: what a person sees and does."""

from __future__ import annotations

import base64
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from clapas.io.recording import Recording, RecordingWriter
from clapas.io.simulation import simulate
from clapas.viewer import Viewer, export_page
from tests.recordings import record_many, swinging


@pytest.fixture
def space(space_run: Path, page: Any) -> Iterator[Any]:
    with Viewer(space_run) as viewer:
        viewer.start()
        opened(page, viewer.url)
        go(page, 0)
        yield page
        page.goto("about:blank")  # before the server is gone


@pytest.fixture
def plane(plane_run: Path, page: Any) -> Iterator[Any]:
    with Viewer(plane_run) as viewer:
        viewer.start()
        opened(page, viewer.url)
        yield page
        page.goto("about:blank")


def opened(page: Any, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("html[data-ready]", state="attached")


def seen(page: Any) -> np.ndarray:
    """The scene as drawn, without what lies over it."""
    page.wait_for_timeout(100)
    data = page.evaluate("clapas.stage.picture()")
    image = Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2])))
    return np.asarray(image.convert("RGB"), dtype=float)


def go(page: Any, index: int) -> None:
    page.evaluate(f"clapas.go({index})")
    page.wait_for_selector(f'html[data-frame="{index}"]', state="attached")


def rows(page: Any, table: str) -> dict[str, str]:
    found = page.eval_on_selector_all(
        f"#{table} tr", "rows => rows.map(row => [row.dataset.name, row.lastChild.textContent])"
    )
    return dict(found)


def numbers(text: str) -> list[float]:
    for dash in "−", "(", ")", ",", "%":
        text = text.replace(dash, "-" if dash == "−" else " ")
    return [float(word) for word in text.split() if word.lstrip("-")[:1].isdigit()]


def click_on(body: int, page: Any) -> None:
    page.keyboard.press("Escape")  # what is told of another body may lie over this one
    x, y = page.evaluate(f"clapas.screenOf({body})")
    page.mouse.click(x, y)


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).mean())


def changed(a: np.ndarray, b: np.ndarray) -> int:
    """Pixels that look different."""
    return int((np.abs(a - b).max(axis=2) > 20).sum())


def test_the_scene_is_drawn(space: Any) -> None:
    picture = seen(space)
    assert picture.std() > 5
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 100
    assert space.title() == "space.h5 – Clapas"
    assert "9 bodies" in space.text_content("#facts")
    assert space.get_attribute("html", "data-frames") == "11"


def test_it_opens_on_a_telling_frame_and_plays_from_the_start(space_run: Path, page: Any) -> None:
    with Recording(space_run) as recording:
        contacts = [len(recording.frame(k).contacts) for k in range(recording.n_frames)]
    telling = max(range(len(contacts)), key=lambda k: (contacts[k], k))
    with Viewer(space_run) as viewer:
        viewer.start()
        opened(page, viewer.url)
        assert page.get_attribute("html", "data-frame") == str(telling)
        page.select_option("#speed", "0.001")
        page.click("#play")
        page.wait_for_selector('html[data-frame="0"]', state="attached")
        page.goto("about:blank")


def test_what_was_chosen_is_remembered(space_run: Path, page: Any) -> None:
    with Viewer(space_run) as viewer:
        viewer.start()
        opened(page, viewer.url)
        page.select_option("#colour", "contacts")
        page.keyboard.press("v")
        page.keyboard.press("p")
        opened(page, viewer.url)
        assert page.input_value("#colour") == "contacts"
        assert page.is_checked('input[name="forces"][value="chains"]')
        assert page.is_checked("#points")
        assert float(page.input_value("#opacity")) == 0.15
        page.goto("about:blank")


def test_the_slider_changes_the_picture(space: Any) -> None:
    first = seen(space)
    space.locator("#time").focus()
    space.keyboard.press("End")
    space.wait_for_selector('html[data-frame="10"]', state="attached")
    assert difference(first, seen(space)) > 0.05
    assert "0.1 s" in space.text_content("#clock")
    assert "11 / 11" in space.text_content("#clock")


def test_keys_step_and_play(space: Any) -> None:
    space.keyboard.press("ArrowRight")
    space.wait_for_selector('html[data-frame="1"]', state="attached")
    space.keyboard.press("Shift+ArrowRight")
    space.wait_for_selector('html[data-frame="10"]', state="attached")
    space.keyboard.press("Home")
    space.wait_for_selector('html[data-frame="0"]', state="attached")
    space.select_option("#speed", "0.05")
    space.keyboard.press(" ")
    space.wait_for_selector('html[data-frame="10"]', state="attached")
    space.wait_for_selector("#play:not(.playing)")


def test_colours_differ(space: Any) -> None:
    go(space, 5)
    pictures = {}
    for mode in ("speed", "greys", "spin", "pressure", "contacts", "material", "plain"):
        space.select_option("#colour", mode)
        pictures[mode] = seen(space)
        assert space.locator("#legend *").count() > 0
    for other in ("greys", "pressure", "contacts", "material"):
        assert difference(pictures["speed"], pictures[other]) > 0.02, other


def test_views_differ(space: Any) -> None:
    pictures = []
    for key in "126":
        space.keyboard.press(key)
        pictures.append(seen(space))
    assert difference(pictures[0], pictures[1]) > 0.5
    assert difference(pictures[1], pictures[2]) > 0.5


def test_a_click_on_a_body_tells_its_numbers(space: Any, space_run: Path) -> None:
    go(space, 10)
    with Recording(space_run) as recording:
        names, frame = recording.model.names, recording.frame(10)
        mass = recording.model.mass
    for name in ("ball", "brick", "gem", "tin"):
        body = names.index(name)
        click_on(body, space)
        assert space.text_content("#selected-name") == name
        told = rows(space, "selected-rows")
        assert numbers(told["position"]) == pytest.approx(
            frame.state.position[body].tolist(), rel=1e-3, abs=1e-6
        )
        assert numbers(told["velocity"]) == pytest.approx(
            frame.state.velocity[body, :3].tolist(), rel=2e-3, abs=1e-6
        )
        assert numbers(told["mass"]) == pytest.approx([mass[body]], rel=1e-3)
        carrying = (frame.mode > 0) & ((frame.contacts.a == body) | (frame.contacts.b == body))
        assert numbers(told["contacts"])[0] == carrying.sum()
    space.keyboard.press("Escape")
    assert space.is_hidden("#selection")


def test_the_largest_force_and_its_cone(space: Any, space_run: Path) -> None:
    go(space, 10)
    with Recording(space_run) as recording:
        frame = recording.frame(10)
        names = recording.model.names
    force = frame.state.impulses.impulse / frame.state.dt
    along = (force * frame.contacts.normal).sum(axis=1)
    strongest = int(along.argmax())
    before = seen(space)
    space.click("#largest")
    told = rows(space, "selected-rows")
    assert numbers(told["normal force"]) == pytest.approx([along[strongest]], rel=1e-3)
    across = np.linalg.norm(force[strongest] - along[strongest] * frame.contacts.normal[strongest])
    assert numbers(told["tangential force"]) == pytest.approx([across], rel=2e-3, abs=1e-3)
    assert told["state"] == ("carries nothing", "sticks", "slides")[frame.mode[strongest]]
    assert names[frame.contacts.b[strongest]] in told["between"]
    assert difference(before, seen(space)) > 0.05  # the cone


def test_a_picked_contact_is_kept_while_it_is_open(space: Any) -> None:
    go(space, 10)
    space.click("#largest")
    picked = rows(space, "selected-rows")["between"]
    go(space, 0)  # nothing touches at the start
    assert space.text_content("#selected-note") == "No contact at this time."
    assert rows(space, "selected-rows") == {}
    go(space, 10)
    assert rows(space, "selected-rows")["between"] == picked


def test_contacts_are_counted_by_state(space: Any, space_run: Path) -> None:
    go(space, 10)
    with Recording(space_run) as recording:
        mode = recording.frame(10).mode
    told = rows(space, "census")
    for name, number in {"carrying nothing": 0, "sticking": 1, "sliding": 2}.items():
        assert numbers(told[name])[0] == (mode == number).sum()


def test_forces_and_points_are_drawn(space: Any) -> None:
    go(space, 10)
    bare = seen(space)
    space.keyboard.press("v")
    chains = seen(space)
    space.keyboard.press("v")
    arrows = seen(space)
    space.keyboard.press("v")
    space.keyboard.press("p")
    points = seen(space)
    for one, other in ((bare, chains), (chains, arrows), (bare, points)):
        assert changed(one, other) > 30
    space.keyboard.press("p")
    assert changed(bare, seen(space)) == 0


def test_a_click_on_a_contact_point(space: Any) -> None:
    go(space, 10)
    space.evaluate("document.getElementById('points').click()")
    contact = space.evaluate("clapas.strongest()")
    point = space.evaluate(
        f"clapas.stage.project(clapas.frame.arrays.point.slice({3 * contact}, {3 * contact + 3}))"
    )
    space.evaluate("document.querySelector('input[value=chains]').click()")  # glass lets the click through
    space.mouse.click(*point)
    assert space.text_content("#selected-name") == "Contact"


def test_a_slice_hides_the_rest(space: Any) -> None:
    whole = seen(space)
    space.evaluate("document.querySelector('input[name=slice][value=\"0\"]').click()")
    space.evaluate("document.getElementById('slice-thickness').value = 0.05")
    space.evaluate(
        "document.getElementById('slice-thickness').dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert difference(whole, seen(space)) > 0.1
    assert "Bodies whose centre has x between" in space.text_content("#slice-note")


def test_light_and_dark(space: Any) -> None:
    before = space.get_attribute("html", "data-theme")
    light = seen(space)
    space.click("#theme-button")
    assert space.get_attribute("html", "data-theme") != before
    assert difference(light, seen(space)) > 20


def test_curves_have_a_cursor_and_take_clicks(space: Any) -> None:
    assert space.locator(".plot").count() == 4
    canvas = space.locator(".plot canvas").first
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] - 8, "y": 20})
    space.wait_for_selector('html[data-frame="10"]', state="attached")


def test_help_says_what_is_seen(space: Any) -> None:
    space.keyboard.press("?")
    assert space.is_visible("#help")
    assert "A run of 9 bodies in 3-D" in space.text_content("#help-what")


def test_a_plane_scene_is_flat(plane: Any, plane_run: Path) -> None:
    go(plane, 10)
    assert seen(plane).std() > 5
    with Recording(plane_run) as recording:
        names, state = recording.model.names, recording.frame(10).state
    for name in ("coin", "square", "triangle"):
        body = names.index(name)
        click_on(body, plane)
        assert plane.text_content("#selected-name") == name
        told = numbers(rows(plane, "selected-rows")["position"])
        assert told == pytest.approx(state.position[body].tolist(), rel=1e-3, abs=1e-6)


def test_new_frames_are_followed(space_run: Path, tmp_path: Path, page: Any) -> None:
    path = tmp_path / "live.h5"
    with Recording(space_run) as old:
        writer = RecordingWriter(path, old.model, dt=old.dt, every=old.every, settings=old.settings)
        for k in range(4):
            writer.append(old.row(k), old.contact_rows(k))
        writer.flush()
        with writer, Viewer(path) as viewer:
            viewer.start()
            opened(page, viewer.url)
            assert page.get_attribute("html", "data-frames") == "4"
            writer.append(old.row(4), old.contact_rows(4))
            writer.flush()
            page.wait_for_selector('html[data-frames="5"]', state="attached")
            page.wait_for_selector("#live:not([hidden])")
            page.click("#live")
            page.wait_for_selector('html[data-frame="4"]', state="attached")
            writer.append(old.row(5), old.contact_rows(5))
            writer.flush()
            page.wait_for_selector('html[data-frame="5"]', state="attached")
            page.goto("about:blank")


def test_a_file_that_vanishes_breaks_and_comes_back(space_run: Path, tmp_path: Path, page: Any) -> None:
    path = tmp_path / "run.h5"
    shutil.copy(space_run, path)
    with Viewer(path) as viewer:
        viewer.start()
        opened(page, viewer.url)
        path.unlink()
        page.wait_for_selector("#message:not([hidden])")
        assert page.text_content("#message-text") == "run.h5 is not there"
        path.write_text("broken")
        page.wait_for_selector('html[data-problem*="not an HDF5 file"]', state="attached")
        path.unlink()
        shutil.copy(space_run, path)
        page.wait_for_selector("#message", state="hidden")
        page.goto("about:blank")
    assert page.complaints
    assert all("Failed to load resource" in text for text in page.complaints)
    page.complaints.clear()


def test_the_token_is_needed(space_run: Path, page: Any) -> None:
    with Viewer(space_run) as viewer:
        viewer.start()
        answer = page.goto(f"http://127.0.0.1:{viewer.port}/")
        assert answer.status == 403
        page.goto("about:blank")
    page.complaints.clear()


def test_an_exported_page_works_without_a_network(space_run: Path, tmp_path: Path, browser: Any) -> None:
    made = export_page(space_run, tmp_path / "page.html", frames=5)
    context = browser.new_context(offline=True, viewport={"width": 900, "height": 600})
    page = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    opened(page, made.path.as_uri())
    assert page.get_attribute("html", "data-frames") == "5"
    go(page, 0)
    first = seen(page)
    assert first.std() > 5
    go(page, 4)
    assert difference(first, seen(page)) > 0.05
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert complaints == []


@pytest.mark.slow
def test_many_grains_load_and_step(tmp_path: Path, page: Any) -> None:
    path = record_many(14_000, tmp_path / "many.h5")
    with Viewer(path) as viewer:
        viewer.start()
        opened(page, viewer.url)
        first = seen(page)
        go(page, 1)
        assert changed(first, seen(page)) > 1000
        page.goto("about:blank")


def test_what_deforms_is_drawn_and_coloured_by_its_fields(tmp_path: Path, page: Any) -> None:
    path = tmp_path / "swing.h5"
    simulate(swinging(), 0.2, 1e-3, out=path, every=50).close()
    with Recording(path) as run:
        looks = [frame.looks[0] for frame in run.frames()]
    with Viewer(path) as viewer:
        viewer.start()
        opened(page, viewer.url)
        options = page.eval_on_selector_all("#colour option", "options => options.map(o => o.textContent)")
        assert options[-2:] == ["Tension", "Height"]
        with Recording(path) as run:  # bodies, without the frames that carry what deforms
            assert page.inner_text("#facts").startswith(f"{run.n_bodies} bod")
        assert (
            page.eval_on_selector("#colour", "select => select.value") == "field tension"
        )  # the first field
        go(page, 0)
        first = seen(page)
        go(page, 4)
        moved = seen(page)
        assert np.abs(moved - first).max() > 50
        # The middle of the kite is under the thread; beside it the surface is seen.
        aside = page.evaluate(
            "() => { const p = clapas.frame.arrays['skin.1.vertices'];"
            "return clapas.stage.project([0, 1, 2].map(i => (p[i] + p[3 + i] + p[6 + i]) / 3)); }"
        )
        plain = moved[int(aside[1]), int(aside[0])]
        page.select_option("#colour", "field height")
        cold = seen(page)[int(aside[1]), int(aside[0])]
        assert cold[2] > cold[0] + 20  # below zero: blue
        assert np.abs(cold - plain).max() > 20
        low = page.evaluate("clapas.scale.range('field height', clapas)[0]")
        assert low == pytest.approx(min(float(look[1].values[0].min()) for look in looks), rel=0.05)
        page.goto("about:blank")


def test_a_narrow_window_shows_the_scene_first(space_run: Path, browser: Any) -> None:
    """On a telephone the panel would cover three quarters of it: it opens by its button."""
    page = browser.new_page(viewport={"width": 390, "height": 780})
    with Viewer(space_run) as viewer:
        viewer.start()
        opened(page, viewer.url)
        assert not page.is_visible("#panel")
        page.click("#panel-button")
        assert page.is_visible("#panel")
        page.close()


def test_words_fit_the_dimension(plane: Any) -> None:
    """What a drag does, and which keys there are, in the plane."""
    assert plane.inner_text("#hint").startswith("Drag to move")
    plane.keyboard.press("?")
    assert not plane.is_visible("#views")


def test_words_fit_the_dimension_in_space(space: Any) -> None:
    assert space.inner_text("#hint").startswith("Drag to turn")
    space.keyboard.press("?")
    assert space.is_visible("#views")
