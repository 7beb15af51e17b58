# SPDX-License-Identifier: GPL-2.0-or-later
"""JavaScript tools on node. The program node itself is the machine's."""
from common import workload

PARTS = 24


def write_modules(w, directory, suffix=".js"):
    """A small project: PARTS modules, each using two others."""
    typed = suffix.startswith(".ts")
    for n in range(PARTS):
        below = [m for m in (2 * n + 1, 2 * n + 2) if m < PARTS]
        text = "".join("import { f%d } from './part%d';\n" % (m, m)
                       for m in below)
        text += "export function f%d(x%s) {\n  return %s;\n}\n" % (
            n, ": number" if typed else "",
            " + ".join(["x"] + ["f%d(x + 1)" % m for m in below]))
        w.write("%s/part%d%s" % (directory, n, suffix), text)


def five_rounds(w, setup, versions, command, suffix=".js"):
    """A tool on a project: a commit, an upgrade, a file added, no change, a
    second checkout with a node_modules of its own."""
    w.round("fresh project")
    setup("work")
    w.npm("work", versions[0])
    w.run(command, "work")
    w.round("commit: 5% of the sources changed")
    w.touch("work/src", [suffix], "// changed")
    w.run(command, "work")
    w.round("upgrade to " + versions[1])
    w.npm("work", versions[1])
    w.run(command, "work")
    w.round("a source file added, others changed")
    w.write("work/src/added" + suffix, "export const y = 1;\n")
    w.touch("work/src", [suffix], "// changed", 0.1)
    w.run(command, "work")
    w.round("no change; and a second checkout")
    w.run(command, "work")
    setup("second/work")
    w.npm("second/work", versions[1])
    w.run(command, "second/work", suffix="@second")


@workload("node-four-tools")
def node_four_tools(w):
    def setup(place):
        w.write(place + "/src/main.js", "".join(
            "require('%s');\n" % m for m in (
                "webpack", "eslint", "typescript", "@babel/core")))
    five_rounds(w, setup, [
        "webpack@5.88 eslint@8.50 typescript@5.2 "
        "@babel/core@7.22",
        "webpack@5.94 eslint@8.57 typescript@5.5 @babel/core@7.25"],
        "node src/main.js")


@workload("webpack-bundle")
def webpack_bundle(w):
    def setup(place):
        write_modules(w, place + "/src")
        w.write(place + "/src/index.js", "import { f0 } from './part0';\n"
                "import { debounce, chunk, merge } from 'lodash-es';\n"
                "import React from 'react';\nimport { createRoot } from "
                "'react-dom/client';\nconsole.log(f0(1), debounce, chunk, "
                "merge, React, createRoot);\n")
        w.write(place + "/webpack.config.js", "module.exports = {mode: "
                "'development', devtool: false};\n")
    five_rounds(w, setup, [
        "webpack@5.88 webpack-cli@5.1 lodash-es@4.17 react@18.2 "
        "react-dom@18.2",
        "webpack@5.94 webpack-cli@5.1 lodash-es@4.17 react@18.3 "
        "react-dom@18.3"], "node node_modules/.bin/webpack")


@workload("eslint-run")
def eslint_run(w):
    def setup(place):
        write_modules(w, place + "/src")
        w.write(place + "/.eslintrc.json", '{"root": true, "extends": '
                '["eslint:recommended", "plugin:import/recommended"], '
                '"parserOptions": {"ecmaVersion": 2022, "sourceType": '
                '"module"}}\n')
    five_rounds(w, setup, ["eslint@8.44 eslint-plugin-import@2.27",
                           "eslint@8.57 eslint-plugin-import@2.29"],
                "node node_modules/.bin/eslint src || true")


@workload("tsc-project")
def tsc_project(w):
    def setup(place):
        write_modules(w, place + "/src", ".ts")
        w.write(place + "/src/main.ts", "import * as fs from 'fs';\nimport "
                "express from 'express';\nimport { f0 } from './part0';\n"
                "const app = express();\nfs.existsSync(String(f0(1)));\n"
                "app.listen(1);\n")
        w.write(place + "/tsconfig.json", '{"compilerOptions": {"outDir": '
                '"out", "esModuleInterop": true, "target": "es2020", '
                '"module": "commonjs"}, "include": ["src"]}\n')
    five_rounds(w, setup, [
        "typescript@5.1 @types/node@18 @types/express@4",
        "typescript@5.5 @types/node@20 @types/express@4"],
        "node node_modules/.bin/tsc || true", ".ts")


@workload("babel-cli")
def babel_cli(w):
    def setup(place):
        write_modules(w, place + "/src")
        w.write(place + "/babel.config.json",
                '{"presets": [["@babel/preset-env", {"targets": "ie 11"}]]}\n')
    five_rounds(w, setup, [
        "@babel/core@7.21.0 @babel/cli@7.21.0 @babel/preset-env@7.20.2",
        "@babel/core@7.25.2 @babel/cli@7.25.6 @babel/preset-env@7.25.4"],
        "node node_modules/.bin/babel src --out-dir out")


@workload("mocha-express")
def mocha_express(w):
    def setup(place):
        for n in range(8):
            w.write("%s/src/t%d.js" % (place, n), """
const assert = require('assert'), express = require('express');
const request = require('supertest'), chai = require('chai');
describe('t%d', () => { it('answers', async () => {
  const app = express(); app.get('/', (q, r) => r.json({n: %d}));
  await request(app).get('/').expect(200); }); });
""" % (n, n))
    five_rounds(w, setup, ["mocha@10.2.0 chai@4.3.7 express@4.18.2 "
                           "supertest@6.3.3",
                           "mocha@10.7.3 chai@4.5.0 express@4.19.2 "
                           "supertest@7.0.0"],
                "node node_modules/.bin/mocha src/t*.js")


@workload("npm-ls")
def npm_ls(w):
    def setup(place):
        w.write(place + "/src/main.js", "// empty\n")
    five_rounds(w, setup, ["npm@9.8 jest@29.5 eslint@8.44",
                           "npm@10.8 jest@29.7 eslint@8.57"],
                "node node_modules/.bin/npm ls --all > list.txt || true")
