"""`recover_to`: bring the program to a declared state by the declared ways."""

from __future__ import annotations

from holo_tasks.agent.agent_step import act_by
from holo_tasks.agent.pursue import perform
from holo_tasks.core.errors import InvalidUsage
from holo_tasks.loop.executor import Executor
from holo_tasks.loop.guide import Guide
from holo_tasks.loop.screens import Screens
from holo_tasks.run.run import current_run
from holo_tasks.run.subgoal_context import current_subgoal, side_walk
from holo_tasks.run.subgoal_options import MODEL


async def recover_to(state: str, *, screens: Screens | None = None) -> None:
    """Bring the program to a state. Wait for it first, then take the ways of ``screens``.

    The default are the screens of the sub-goal. Raises `GaveUp`, a kind of `NeedsPerson`, if the state is not reached.
    """
    run, here = current_run(), current_subgoal()
    screens = screens or (here.options.known_screens if here else None)
    if screens is None:
        raise InvalidUsage("No screens are declared here; give recover_to(…, screens=Screens(…)).")
    screens.state(state)
    run.watch(screens)
    async with run.exclusive_screen():
        walk = side_walk(f"Go to ‘{state}’.")
        await walk.look()
        executor = Executor(walk, act_by(MODEL), MODEL, run.recognizer, perform)
        await executor.carry_out(Guide(screens, before=state).begin())
