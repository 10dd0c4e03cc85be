# Pictures of matplotlib: a part of the driver of a Python kernel, in front of kernel.py, which has display.
import sys


def is_figure(obj):
    figures = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(obj, getattr(figures, "Figure", ()))


def picture(figure):
    from io import BytesIO
    out = BytesIO()
    figure.savefig(out, format="png", bbox_inches="tight")
    return out.getvalue()


def show_figures(*args, **kwargs):
    """Show all open figures, and close them."""
    from matplotlib._pylab_helpers import Gcf
    import matplotlib.pyplot as plt
    try:
        for manager in Gcf.get_all_fig_managers():
            display(manager.canvas.figure)
    finally:
        plt.close("all")


BACKEND = "brig_figures"


class Figures:
    """Import hooks: the backend that shows figures here, which matplotlib.pyplot uses unless the program has chosen."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == BACKEND:
            from importlib.machinery import ModuleSpec
            return ModuleSpec(name, Figures)
        if name != "matplotlib.pyplot":
            return None
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target) if finder is not Figures else None
            if spec is not None and spec.loader is not None:
                spec.loader = AfterImport(spec.loader)
                return spec
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        from matplotlib.backends import backend_agg as agg
        module.FigureCanvas = agg.FigureCanvasAgg
        module.FigureManager = agg.FigureManagerBase
        module.new_figure_manager = agg.new_figure_manager
        module.new_figure_manager_given_figure = agg.new_figure_manager_given_figure
        module.show = show_figures


class AfterImport:
    """A loader that has pyplot use the backend."""

    def __init__(self, loader):
        self.loader = loader

    def __getattr__(self, name):
        return getattr(self.loader, name)

    def create_module(self, spec):
        return self.loader.create_module(spec)

    def exec_module(self, module):
        self.loader.exec_module(module)
        import matplotlib
        chosen = dict.get(matplotlib.rcParams, "backend")
        if not isinstance(chosen, str):  # nobody has chosen one
            module.switch_backend("module://" + BACKEND)


def figures_are_shown():
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is None or BACKEND not in sys.modules:
        return False
    try:
        return plt.get_backend().lower() == "module://" + BACKEND and bool(plt.get_fignums())
    except Exception:
        return False


