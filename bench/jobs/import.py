# SPDX-License-Identifier: GPL-2.0-or-later
"""The job `import`: the four packages, with the parts that people use."""
import numpy
import scipy.integrate
import scipy.interpolate
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.stats
import pandas
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot

print(numpy.__version__, scipy.__version__, pandas.__version__,
      matplotlib.__version__)
print(float(numpy.linalg.det(numpy.array([[2.0, 1.0], [1.0, 3.0]]))),
      scipy.optimize.brentq(lambda x: x * x - 2, 0, 2),
      int(pandas.Series([1, 2, 3]).sum()))
