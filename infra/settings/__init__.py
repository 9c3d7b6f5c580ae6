"""All settings with their types. The environment (``LK_*``) overrides a TOML file, which overrides the defaults."""

from infra.settings.fields import PREFIX as PREFIX
from infra.settings.model import LOOPBACK as LOOPBACK
from infra.settings.model import Settings as Settings
