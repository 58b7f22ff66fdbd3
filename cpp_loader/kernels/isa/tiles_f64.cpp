// The tiles of products of float64.
#include "tile.h"

namespace scriptlang::kernels::SL_ISA {

template const NarrowTiles<double> TileSet<double, Operand::kPacked>::narrow;
template const TileTable<double, kTileRows> TileSet<double, Operand::kPacked>::one;
template const NarrowTiles<double> TileSet<double, Operand::kDirect>::narrow;
template const TileTable<double, kTileRows> TileSet<double, Operand::kDirect>::one;
template const TileTable<double, kPairRows> TileSet<double, Operand::kDirect>::pair;
template const TileTable<double, kQuadRows> TileSet<double, Operand::kDirect>::quad;
template const TileTable<double, kTileRows> TileSet<double, Operand::kDirectBoth>::one;
template const TileTable<double, kPairRows> TileSet<double, Operand::kDirectBoth>::pair;
template const TileTable<double, kQuadRows> TileSet<double, Operand::kDirectBoth>::quad;
template const NarrowTiles<double> TileSet<double, Operand::kTaps>::narrow;
template const TileTable<double, kTileRows> TileSet<double, Operand::kTaps>::one;
template const NarrowTiles<double> TileSet<double, Operand::kPlaces>::narrow;
template const TileTable<double, kTileRows> TileSet<double, Operand::kPlaces>::one;

}  // namespace scriptlang::kernels::SL_ISA
