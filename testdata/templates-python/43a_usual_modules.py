# All modules of the template with usual modules, and what their objects do.
import bisect, collections, contextlib, copy, dataclasses, datetime, decimal, enum, fractions, functools
import heapq, json, numbers, operator, random, re, statistics, string, textwrap, types, typing

@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: typing.Optional[int] = None
    tags: list = dataclasses.field(default_factory=list)

class Color(enum.Enum):
    RED = enum.auto()
    BLUE = enum.auto()

@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

@contextlib.contextmanager
def around(what):
    print("enter", what)
    yield what
    print("leave", what)

heap = [5, 1, 4]
heapq.heapify(heap)
with around("block") as what:
    print(what, heapq.heappop(heap), bisect.bisect([1, 2, 3], 2), Point(1, 2) < Point(1, 3), copy.deepcopy(Point(1)))
print(collections.Counter("abracadabra").most_common(2), collections.OrderedDict(a=1), collections.deque([1, 2], 1))
print(datetime.date(2024, 2, 29) + datetime.timedelta(days=366), datetime.datetime.strptime("2024-01-02", "%Y-%m-%d"))
print(decimal.Decimal(1) / 3, decimal.getcontext().prec, fractions.Fraction(1, 3) + 1, fib(80), fib.cache_info())
print(json.dumps({"a": [1, None, 1.5]}), json.loads("[true]"), isinstance(1, numbers.Integral), operator.itemgetter(1)("ab"))
print(re.sub(r"(\w)(\d)", r"\2\1", "a1b2"), statistics.median([3, 1, 2]), string.ascii_lowercase[:3], textwrap.fill("a b c", 3))
print(types.SimpleNamespace(a=1), list(Color), Color.RED, typing.get_type_hints(Point))
random.seed(7)
print(random.random(), random.sample(range(100), 5), random.Random(3).gauss(0, 1))
print(collections.abc.Mapping, Color.__module__, Point.__module__)
