"""Every setting in one typed place: defaults < a TOML file < the environment (``LK_*``)."""

from infra.settings.model import LOOPBACK as LOOPBACK
from infra.settings.model import PREFIX as PREFIX
from infra.settings.model import Settings as Settings
