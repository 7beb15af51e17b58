# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that import large Python libraries."""
from common import workload


def five_rounds(w, versions, program, second):
    """A script on a virtual environment: changed script, upgrade of the
    library, a module added and one removed, no change, another environment."""
    w.write("work/helper_a.py", "import json\nVALUE = 1\n")
    w.write("work/helper_b.py", "import csv\nVALUE = 2\n")
    w.write("work/main.py", "import helper_a\nimport helper_b\n" + program)
    w.round("fresh environment")
    w.venv("venv", versions[0])
    w.run("venv/bin/python3 work/main.py")
    w.round("commit: the script changed")
    w.touch("work", [".py"], share=0.4)
    w.run("venv/bin/python3 work/main.py")
    w.round("upgrade to " + versions[1])
    w.venv("venv", versions[1])
    w.run("venv/bin/python3 work/main.py")
    w.round("one module added, one removed")
    w.sh("rm work/helper_b.py")
    w.write("work/helper_c.py", "import xml.dom.minidom\n")
    w.write("work/main.py", "import helper_a\nimport helper_c\n" + program)
    w.run("venv/bin/python3 work/main.py")
    w.round("no change; and a second environment")
    w.run("venv/bin/python3 work/main.py")
    w.venv("second", second)
    w.sh("cp -r work second/work")
    w.run("second/bin/python3 second/work/main.py", suffix="@second")


@workload("numpy-import")
def numpy_import(w):
    five_rounds(w, ["numpy==1.24.4", "numpy==1.26.4"], """
import numpy as np
a = np.random.default_rng(1).random((60, 60))
print(np.linalg.inv(a).sum(), np.fft.fft(a).real.sum())
""", "numpy==1.26.4")


@workload("scipy-signal")
def scipy_signal(w):
    five_rounds(w, ["numpy==1.26.4 scipy==1.11.4",
                    "numpy==1.26.4 scipy==1.13.1"], """
import scipy.signal, scipy.optimize, scipy.stats
b, a = scipy.signal.butter(4, 0.2)
print(b, scipy.optimize.brentq(lambda x: x * x - 2, 0, 2))
print(scipy.stats.norm.cdf(1.0))
""", "numpy==1.26.4 scipy==1.13.1")


@workload("pandas-csv")
def pandas_csv(w):
    for name in range(12):
        w.write("work/data/%02d.csv" % name,
                "day,name,value\n" + "".join(
                    "2020-01-%02d,n%d,%d\n" % (d % 28 + 1, d % 5, d * name)
                    for d in range(200 + 40 * name)))
    five_rounds(w, ["numpy==1.26.4 pandas==2.0.3",
                    "numpy==1.26.4 pandas==2.2.2"], """
import glob, os
import pandas as pd
here = os.path.dirname(os.path.abspath(__file__))
names = sorted(glob.glob(here + "/data/*.csv"))
table = pd.concat(pd.read_csv(n, parse_dates=["day"]) for n in names)
print(table.groupby("name").value.sum())
""", "numpy==1.26.4 pandas==2.2.2")


@workload("sympy-solve")
def sympy_solve(w):
    five_rounds(w, ["sympy==1.11.1", "sympy==1.13.1"], """
from sympy import symbols, solve, integrate, sin, latex
x = symbols("x")
print(solve(x**3 - x - 1, x), latex(integrate(sin(x)**2, x)))
""", "sympy==1.13.1")


@workload("matplotlib-plot")
def matplotlib_plot(w):
    w.env["MPLCONFIGDIR"] = w.path("config")
    five_rounds(w, ["numpy==1.26.4 matplotlib==3.7.5",
                    "numpy==1.26.4 matplotlib==3.9.2"], """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 6, 100)
plt.plot(x, np.sin(x))
plt.title("$y = \\\\sin x$")
plt.savefig(__file__ + ".png")
""", "numpy==1.26.4 matplotlib==3.9.2")


@workload("sqlalchemy-flask")
def sqlalchemy_flask(w):
    five_rounds(w, ["sqlalchemy==2.0.20 flask==2.3.3",
                    "sqlalchemy==2.0.36 flask==3.0.3"], """
import flask, sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, Session
class Base(DeclarativeBase): pass
class User(Base):
    __tablename__ = "user"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
engine = sa.create_engine("sqlite://")
Base.metadata.create_all(engine)
app = flask.Flask(__name__)
@app.route("/")
def index():
    with Session(engine) as s:
        s.add(User(name="a"))
        return str(s.query(User).count())
print(app.test_client().get("/").data)
""", "sqlalchemy==2.0.36 flask==3.0.3")


@workload("ipython-start")
def ipython_start(w):
    w.env["IPYTHONDIR"] = w.path("ipython")
    w.write("work/a.py", "import os, re, json\nprint(os.getcwd())\n")
    run = "venv/bin/ipython --no-banner --colors=NoColor -c '%run work/a.py'"
    w.round("fresh environment")
    w.venv("venv", "ipython==8.12.3")
    w.run(run)
    w.round("the script changed")
    w.touch("work", [".py"])
    w.run(run)
    w.round("upgrade to ipython 8.26")
    w.venv("venv", "ipython==8.26.0")
    w.run(run)
    w.round("a start-up file added")
    w.write("ipython/profile_default/startup/10-a.py", "import decimal\n")
    w.run(run)
    w.round("no change; and a second environment")
    w.run(run)
    w.venv("second", "ipython==8.26.0")
    w.run(run.replace("venv/", "second/"), suffix="@second")
