# SPDX-License-Identifier: GPL-2.0-or-later
"""Development tools written in Python, on real source trees."""
from common import workload


def on_a_project(w, project, versions, command, second, commit=(".py",),
                 remove=None):
    """A tool on the source tree of a PyPI package, work/: a commit, an
    upgrade of the tool, files added and removed, no change, another checkout
    in second/work. `command` runs in the tree."""
    w.corpus.sdist(project, w.path("work"))
    w.round("fresh environment and checkout")
    w.venv("venv", versions[0])
    w.run(command, "work")
    w.round("commit: 5% of the files changed")
    w.touch("work", commit)
    w.run(command, "work")
    w.round("upgrade to " + versions[1])
    w.venv("venv", versions[1])
    w.run(command, "work")
    w.round("a file added, another removed, 5% changed")
    files = w.files("work", commit)
    with open(files[len(files) // 2]) as f:
        text = f.read()
    place = files[len(files) // 2].rsplit("/", 1)[0]
    with open(place + "/test_added_file" + commit[0], "w") as f:
        f.write(text)
    w.sh("rm -f " + (remove or "work/setup.cfg"))
    w.touch("work", commit)
    w.run(command, "work")
    w.round("no change; and a second checkout" + second)
    w.run(command, "work")
    w.sh("mkdir second")
    w.corpus.sdist(project, w.path("second/work"))
    w.run(command, "second/work", suffix="@second")


@workload("pytest-click")
def pytest_click(w):
    on_a_project(w, "click==8.1.3", ["pytest==7.4.4 click==8.1.3",
                                     "pytest==8.3.3"],
                 "pytest -q -x -p no:randomly tests || test $? = 1", "",
                 remove="work/tests/test_normalization.py")


@workload("mypy-click")
def mypy_click(w):
    on_a_project(w, "click==8.1.3", ["mypy==1.5.1", "mypy==1.11.2"],
                 "mypy --no-error-summary src/click || true", "",
                 remove="work/src/click/_winconsole.py")


@workload("black-check")
def black_check(w):
    on_a_project(w, "flask==2.3.3", ["black==23.12.1", "black==24.8.0"],
                 "black --check -q -W 1 . || true", "",
                 remove="work/tests/test_cli.py")


@workload("flake8-requests")
def flake8_requests(w):
    on_a_project(w, "requests==2.31.0", ["flake8==6.0.0", "flake8==7.1.1"],
                 "flake8 -j 2 src requests tests || true", "",
                 remove="work/tests/test_help.py")


@workload("pylint-attrs")
def pylint_attrs(w):
    on_a_project(w, "attrs==23.1.0", ["pylint==2.17.7", "pylint==3.2.7"],
                 "pylint --disable=all --enable=E src/attr || true", "",
                 remove="work/src/attr/_cmp.py")


@workload("sphinx-click")
def sphinx_click(w):
    w.write("conf/conf.py", "project = 'work'\nroot_doc = 'index'\n"
            "extensions = ['sphinx.ext.autodoc']\n")
    on_a_project(w, "click==8.1.3", ["sphinx==6.2.1", "sphinx==7.4.7"],
                 "sphinx-build -q -c ../conf docs build || "
                 "sphinx-build -q -c ../../conf docs build", "",
                 commit=(".rst",), remove="work/docs/wincmd.rst")


@workload("docutils-html")
def docutils_html(w):
    on_a_project(w, "docutils==0.20.1", ["docutils==0.20.1",
                                         "docutils==0.21.2"],
                 "for f in docs/user/*.txt docs/user/rst/*.txt docs/*.rst; do "
                 "test -f $f && python3 -m docutils -q $f $f.html; done; true",
                 "", commit=(".txt",), remove="work/docs/user/slide-shows.txt")


@workload("django-check")
def django_check(w):
    w.round("fresh environment and project")
    w.venv("venv", "django==4.1.13")
    w.sh("django-admin startproject site1 && cd site1 && "
         "python3 manage.py startapp shop && python3 manage.py migrate")
    run = "python3 manage.py check && python3 manage.py showmigrations"
    w.run(run, "site1")
    w.round("the settings changed")
    w.touch("site1", [".py"])
    w.run(run, "site1")
    w.round("upgrade to django 4.2")
    w.venv("venv", "django==4.2.16")
    w.run(run, "site1")
    w.round("an application added")
    w.sh("python3 manage.py startapp blog && "
         "sed -i 's/^INSTALLED_APPS = \\[/&\"blog\", \"shop\",/' "
         "site1/settings.py && rm shop/tests.py", "site1")
    w.run(run, "site1")
    w.round("no change; and a second environment")
    w.run(run, "site1")
    w.venv("second/venv", "django==4.2.16")
    w.sh("cp -r site1 second/")
    w.run(run, "second/site1", suffix="@second")


@workload("pip-install")
def pip_install(w):
    w.round("fresh environment, wheels kept locally")
    w.venv("venv", "pip==23.3.2")
    w.sh("pip download -q -d wheels flask==2.3.3 rich==13.5.0 "
         "requests==2.31.0")
    run = "pip install -q --no-index --find-links wheels --target out%d " \
        "flask rich requests && pip list -q"
    w.run(run % 1)
    w.round("no change")
    w.run(run % 2)
    w.round("upgrade to pip 24.2")
    w.venv("venv", "pip==24.2")
    w.run(run % 3)
    w.round("one package upgraded")
    w.sh("rm -f wheels/rich* && pip download -q -d wheels rich==13.8.0")
    w.run(run % 4)
    w.round("no change; and a second environment")
    w.run(run % 5)
    w.venv("second", "pip==24.2")
    w.run(run % 6, suffix="@second")
