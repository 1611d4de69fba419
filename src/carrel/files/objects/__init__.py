"""A FileStore in an object store: S3, Google Cloud Storage, Azure, or the memory of this process."""

from carrel.files.objects.bucket import BadObjectsUrl, ObjectsUnavailable
from carrel.files.objects.store import ObjectFiles

__all__ = ["BadObjectsUrl", "ObjectFiles", "ObjectsUnavailable"]
