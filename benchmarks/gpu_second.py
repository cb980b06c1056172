"""prof: one launch"""
import sys, time
import common, numpy as np, polymargin as pm
from polymargin.gpu.device import *
from polymargin.gpu.source import lanes_per_path
from polymargin.boundary import critical_system
from polymargin.enumeration.base_solutions import base_solutions
from polymargin.enumeration.cache import Cache
size, rows, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
n,h=map(int,size.split(','))
b=pm.Boundary.from_network(common.network(n,[h],3,np.random.default_rng(0)),0,1)
base=base_solutions(b,seed=0,settings=pm.TrackerSettings(),threads=16,cache=Cache.from_option('/tmp/bases'))
T=np.array([[*b.reduction.coordinates(x),0] for x in np.random.default_rng(3).normal(size=(rows,n))],dtype=complex)
found=launch(Tape.of(base.program),base.solutions,base.parameters,T,pm.TrackerSettings(),group).wait()
print(size,group,dict(zip(*np.unique(found['ends'],return_counts=True))),found['steps'].mean())
