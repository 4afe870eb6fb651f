"""Published studies as data: what they trained, measured and reported, in three sizes."""

from veridical.studies.l2e import L2E
from veridical.studies.regex import REGEX
from veridical.studies.saloss import SALOSS
from veridical.studies.scc import SCC
from veridical.studies.smat import SMAT
from veridical.studies.study import Figure, Look, Preset, Sizes, Study, StudyData, Variant

STUDIES: dict[str, Study] = {study.name: study for study in (SALOSS, REGEX, SCC, L2E, SMAT)}

__all__ = ["STUDIES", "Figure", "Look", "Preset", "Sizes", "Study", "StudyData", "Variant"]
