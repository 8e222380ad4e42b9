"""Push a box with an arm, and stop the arm as soon as it feels the box slide."""

import clapas


def main() -> None:
    """Push, feel, stop; then go back and do the last steps again."""
    scene = clapas.Scene()
    scene.material("steel")
    scene.law(mu=0.5)
    scene.law("steel", "default", mu=0.0)
    scene.add(clapas.Plane(), name="table")
    scene.add(clapas.Box((0.2, 0.2, 0.2)), (0.72, 0, 0.1), mass=2.0, name="box")
    motors = {
        "rail": clapas.VelocityMotor(0.2, 1e3),
        "turret": clapas.Servo(0.0, 400.0, 40.0),
        "elbow": clapas.Servo(0.0, 400.0, 40.0),
    }
    scene.load_robot("arm.urdf", material="steel", motors=motors)
    scene.probe("joint_coordinate", joint="rail", name="travel")
    scene.probe("joint_effort", joint="rail", name="effort")

    sim = clapas.Simulation(scene, dt=1e-3)
    with sim.record("push.h5", every=10):
        while not (table := sim.contacts("table", "box")) or not table.sliding.all():
            sim.step()
        sim.step(200)
        push = sim.contacts("lower", "box").force.sum(axis=0)
        print(f"slides at {sim.body('box').velocity[0]:.3f} m/s, pushed by {push[0]:.3f} N")
        sim.joint("rail").target = 0.0
        sim.step(200)
    print(f"stopped after {sim.joint('rail').position:.4f} m, rate {abs(sim.joint('rail').rate):.1e} m/s")

    here = sim.snapshot()
    sim.step(50)
    first = sim.state.position
    sim.reset(here)
    sim.step(50)
    print("the same bits after reset:", bool((sim.state.position == first).all()))


if __name__ == "__main__":
    main()
