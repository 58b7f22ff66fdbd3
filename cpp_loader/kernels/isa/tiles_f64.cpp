// The tiles of products of float64.
#include "tile.h"

namespace scriptlang::kernels::SL_ISA {

template const TileTable<double, kTileRows> TileSet<double, Operand::kPacked>::half;
template const TileTable<double, kTileRows> TileSet<double, Operand::kPacked>::one;
template const TileTable<double, kTileRows> TileSet<double, Operand::kDirect>::half;
template const TileTable<double, kTileRows> TileSet<double, Operand::kDirect>::one;
template const TileTable<double, kPairRows> TileSet<double, Operand::kDirect>::pair;
template const TileTable<double, kQuadRows> TileSet<double, Operand::kDirect>::quad;
template const TileTable<double, kTileRows> TileSet<double, Operand::kDirectBoth>::one;
template const TileTable<double, kPairRows> TileSet<double, Operand::kDirectBoth>::pair;
template const TileTable<double, kQuadRows> TileSet<double, Operand::kDirectBoth>::quad;
template const TileTable<double, kTileRows> TileSet<double, Operand::kTaps>::half;
template const TileTable<double, kTileRows> TileSet<double, Operand::kTaps>::one;
template const TileTable<double, kTileRows> TileSet<double, Operand::kPlaces>::half;
template const TileTable<double, kTileRows> TileSet<double, Operand::kPlaces>::one;

}  // namespace scriptlang::kernels::SL_ISA
