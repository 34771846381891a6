"""The assumptions of a pipeline's source, tried on its server; most of it is waiting."""

from collections.abc import Sequence

from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.producers.contract.assumptions import Assuming, AssumptionReport
from wrackline.producers.contract.source_plugin import load
from wrackline.schemas.pipelines.pipeline import Pipeline


def try_assumptions(pipeline: Pipeline) -> Sequence[AssumptionReport]:
    """Try them in each database; a source that has none gives no report."""
    source = load(pipeline.source or "").open(pipeline.good(), surroundings())
    try:
        if not isinstance(source, Assuming):
            return ()
        return [source.assumptions(partition) for partition in source.partitions()]
    finally:
        source.close()
