"""All planted faults, by name: importing their modules plants them."""

from tests.simulation import faults_of_machine, faults_of_readers, faults_of_task
from tests.simulation.planting import FAULTS

__all__ = ["FAULTS", "faults_of_machine", "faults_of_readers", "faults_of_task"]
