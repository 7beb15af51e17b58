// SPDX-License-Identifier: GPL-2.0-or-later
// The job `node`: webpack, eslint, typescript and babel are loaded.
"use strict";
const webpack = require("webpack");
const { Linter } = require("eslint");
const typescript = require("typescript");
const babel = require("@babel/core");

console.log(webpack.version, Linter.version, typescript.version, babel.version);
