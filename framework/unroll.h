// Everything that a program with a model of its own needs: tensors, tape and operations, layers, optimizers,
// windows of a sequence. The loop of training/trainer.h is not part of it.
#pragma once

#include "data/windows.h"
#include "framework/gemm.h"
#include "framework/loss.h"
#include "framework/ops.h"
#include "framework/parameters.h"
#include "framework/random.h"
#include "framework/tape.h"
#include "framework/threads.h"
#include "layers/cell.h"
#include "layers/dense.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/gru.h"
#include "layers/layer_norm.h"
#include "layers/lstm.h"
#include "layers/recurrent_layer.h"
#include "layers/regularization.h"
#include "layers/stepper.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
