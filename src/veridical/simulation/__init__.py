"""Simulation: students that learn to say what a model says, with its explanations or without (SMaT)."""

from veridical.simulation.plans import ScaffoldPlan, StudentPlan

__all__ = ["ScaffoldPlan", "StudentPlan"]
