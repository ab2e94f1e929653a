"""`streamsan run` puts this folder first in PYTHONPATH, so that every Python below it starts here.

It waits for torch to be imported, and gives way to the sitecustomize that there would have been.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _others():
    return [path for path in sys.path if os.path.abspath(path or ".") != _HERE]


def _load_package():
    """The package that this file belongs to, also where the program's Python has none or another one."""
    import importlib.util

    if "streamsan" in sys.modules:
        return
    root = os.path.dirname(_HERE)
    spec = importlib.util.spec_from_file_location(
        "streamsan", os.path.join(root, "__init__.py"), submodule_search_locations=[root]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["streamsan"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["streamsan"]
        raise


def _attach():
    if not os.environ.get("STREAMSAN_SOCKET"):
        return
    # Lazily: a Python that never imports torch pays for one entry in sys.meta_path and nothing else.
    sys.meta_path.insert(0, _Waiting())


class _Waiting:
    """Finds torch as the other finders do, and comes back when it has been executed. Stays until then: many
    programs look for torch before they import it, or without importing it."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                self._wrap(spec.loader)
                return spec
        return None

    def _wrap(self, loader):
        run = getattr(loader, "exec_module", None)
        if run is None:
            return

        def exec_module(module):
            loader.exec_module = run
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                _plug_in(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # a loader of slots: not attached, which the report's coverage says


def _plug_in(torch):
    try:
        _load_package()
        from streamsan import _torch

        _torch.attach(torch)
    except Exception as error:  # the program comes first
        print(f"StreamSan: the PyTorch plug-in does not load: {error!r}", file=sys.stderr)


def _chain():
    """Runs the next sitecustomize of the path in this one's place, as if this one were not there."""
    import importlib.machinery
    import importlib.util

    sys.path[:] = _others()
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_attach()
_chain()
